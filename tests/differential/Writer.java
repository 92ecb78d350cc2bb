// Writes files, flushes them and keeps them open: each line of standard input is a step, answered by "ok" or the error.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream;

public class Writer {
  static final Map<String, FSDataOutputStream> OPEN = new HashMap<>();

  static void grow(FSDataOutputStream out, int bytes) throws Exception {
    out.write(new byte[bytes]);
    ((HdfsDataOutputStream) out).hsync(EnumSet.of(HdfsDataOutputStream.SyncFlag.UPDATE_LENGTH));
  }

  static void step(FileSystem hdfs, String what, String number, int bytes, String path) throws Exception {
    switch (what) {
      case "create" -> {
        FSDataOutputStream out = hdfs.create(new Path(path), true, 4096, (short) 1, 1 << 20);
        OPEN.put(number, out);
        try {
          out.write(new byte[bytes]);
          out.hflush();
        } catch (Exception failed) {
          OPEN.remove(number);
          hdfs.delete(new Path(path), false);
          throw failed;
        }
      }
      case "grow" -> grow(OPEN.get(number), bytes);
      case "close" -> OPEN.remove(number).close();
      default -> throw new IllegalArgumentException(what);
    }
  }

  public static void main(String[] arguments) throws Exception {
    FileSystem hdfs = FileSystem.get(new Configuration());
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    System.out.println("ready");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", 4);
      String reply = "ok";
      try {
        step(hdfs, words[0], words[1], Integer.parseInt(words[2]), words[3]);
      } catch (Exception error) {
        reply = String.valueOf(error).split("\n")[0];
      }
      System.out.println(reply);
    }
    System.exit(0);
  }
}
