// Apache HttpClient 5.4 as it comes: each GET in the clear says "Upgrade: TLS/1.2".

import java.io.IOException;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.EntityUtils;

public class ApacheClient {
  static final CloseableHttpClient CLIENT = HttpClients.createDefault();

  static int ask(String method, String url) {
    try {
      return CLIENT.execute(new HttpUriRequestBase(method, java.net.URI.create(url)), response -> {
        EntityUtils.consume(response.getEntity());
        return response.getCode();
      });
    } catch (IOException error) {
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
