// Hadoop's own shell: each line of standard input is a user and a command; its output and exit code follow.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.ToolRunner;

public class Shell {
  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    PrintStream out = System.out;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ");
      ByteArrayOutputStream said = new ByteArrayOutputStream();
      System.setOut(new PrintStream(said, true));
      System.setErr(System.out);
      Configuration conf = new Configuration();
      conf.set(FileSystem.FS_DEFAULT_NAME_KEY, arguments[0]);
      int code = UserGroupInformation.createRemoteUser(words[0]).doAs((PrivilegedExceptionAction<Integer>) () ->
          ToolRunner.run(conf, new FsShell(conf), Arrays.copyOfRange(words, 1, words.length)));
      said.toString().lines().forEach(each -> out.println("| " + each));
      out.println("= " + code);
    }
    System.exit(0);
  }
}
