# Ruby's Net::HTTP: a connection that is kept for the first half of the polls, one for each request for the rest.

require "net/http"
require "uri"

def status
  yield.code.to_i
rescue StandardError => error
  warn error.inspect
  0
end

KINDS = { "GET" => Net::HTTP::Get, "PUT" => Net::HTTP::Put, "POST" => Net::HTTP::Post }.freeze

def ask(kept, method, url)
  request = KINDS.fetch(method).new(URI(url))
  return status { kept.request(request) } if kept

  status { Net::HTTP.start(request.uri.host, request.uri.port) { |http| http.request(request) } }
end

count = Integer(ARGV.shift)
ARGV.each do |root|
  kept = Net::HTTP.start(URI(root).host, URI(root).port)
  rest = "&user.name=alice"
  read = (0...count).count { |i| ask(i < count / 2 ? kept : nil, "GET", "#{root}/f?op=GETFILESTATUS#{rest}") == 200 }
  written = (0...count).count do |i|
    connection = i < count / 2 ? kept : nil
    next ask(connection, "PUT", "#{root}/w#{i}?op=MKDIRS#{rest}") == 200 if i.even?

    ask(connection, "POST", "#{root}/g?op=TRUNCATE&newlength=0#{rest}") == 200
  end
  puts "#{read} #{written}"
end
