# Two log shippers, by the requests that they send: Logstash's logstash-output-webhdfs 3.1.0 and Fluentd's
# fluent-plugin-webhdfs 1.5. Both use the gem webhdfs, which opens a connection for each request, asks without a body
# first, and sends the data to the place that the redirect names.
#
# KIND URL : to the file of the URL, a chunk of lines for each line that is read; prints what that took.

require "net/http"
require "uri"

class Missing < StandardError; end

def ask(method, uri, data = nil)
  header = data ? { "Content-Type" => "application/octet-stream" } : {}
  reply = Net::HTTP.new(uri.host, uri.port).send_request(method, uri.request_uri, data, header)
  case reply
  when Net::HTTPSuccess, Net::HTTPRedirection then reply
  when Net::HTTPNotFound then raise Missing, reply.body
  else raise "#{reply.code}: #{reply.body}"
  end
end

def call(method, url, operation, data)
  reply = ask(method, URI("#{url}?op=#{operation}&user.name=alice"))
  raise "no redirect: #{reply.code}" unless reply.is_a?(Net::HTTPRedirection) && reply["location"]

  ask(method, URI(reply["location"]), data)
end

def append_or_create(url, data)
  call("POST", url, "APPEND", data)
  "appended"
rescue Missing
  call("PUT", url, "CREATE", data)
  "created"
end

# Logstash tries again by itself what fails, five times, after a pause that grows; Fluentd keeps the chunk, and its
# buffer tries again after a second, then after two, and so on.
def written(kind, url, data)
  tries = 0
  begin
    append_or_create(url, data)
  rescue StandardError => error
    warn error.inspect
    raise if tries >= 5

    sleep(kind == "logstash" ? 0.5 * tries : 2**tries)
    tries += 1
    retry
  end
end

kind, url = ARGV
$stdout.sync = true
ask("GET", URI("#{url[%r{\Ahttp://[^/]+/webhdfs/v1}]}/?op=LISTSTATUS&user.name=alice"))
$stdin.each_line { |line| puts written(kind, url, line * 100) }
