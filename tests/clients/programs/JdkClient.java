// The JDK's own HTTP client as it comes: it prefers HTTP/2, so each request in the clear says "Upgrade: h2c".

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class JdkClient {
  static final HttpClient CLIENT = HttpClient.newHttpClient();

  static int ask(String method, String url) {
    try {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url))
          .method(method, HttpRequest.BodyPublishers.noBody()).build();
      return CLIENT.send(request, HttpResponse.BodyHandlers.ofByteArray()).statusCode();
    } catch (Exception error) {
      System.err.println(method + " " + url + ": " + error);
      return 0;
    }
  }

  public static void main(String[] arguments) {
    int count = Integer.parseInt(arguments[0]);
    for (int at = 1; at < arguments.length; at++) {
      String end = "&user.name=alice";
      int read = 0, written = 0;
      for (int i = 0; i < count; i++) {
        read += ask("GET", arguments[at] + "/f?op=GETFILESTATUS" + end) == 200 ? 1 : 0;
      }
      for (int i = 0; i < count; i++) {
        written += (i % 2 == 0
            ? ask("PUT", arguments[at] + "/w" + i + "?op=MKDIRS" + end)
            : ask("POST", arguments[at] + "/g?op=TRUNCATE&newlength=0" + end)) == 200 ? 1 : 0;
      }
      System.out.println(read + " " + written);
    }
    System.exit(0);
  }
}
