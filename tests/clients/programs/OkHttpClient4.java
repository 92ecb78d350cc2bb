// OkHttp as it comes.

import java.io.IOException;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

public class OkHttpClient4 {
  static final OkHttpClient CLIENT = new OkHttpClient();

  static int ask(String method, String url) {
    RequestBody body = method.equals("GET") ? null : RequestBody.create(new byte[0]);
    try (Response response = CLIENT.newCall(new Request.Builder().url(url).method(method, body).build()).execute()) {
      response.body().bytes();
      return response.code();
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
