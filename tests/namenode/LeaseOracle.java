// Carries out the steps of leases.txt at a real NameNode: one a line of standard input, each answered by a line "-> ...".

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URL;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.CryptoProtocolVersion;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockInfo;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.INode;
import org.apache.hadoop.hdfs.server.namenode.INodeFile;
import org.apache.hadoop.io.EnumSetWritable;
import org.apache.hadoop.ipc.RemoteException;

public class LeaseOracle {
  static final int BLOCK = 1048576, PATIENCE_MS = 40000;
  static MiniDFSCluster cluster;
  static ClientProtocol nn;
  static final Map<String, Long> files = new HashMap<>();
  static final Map<String, ExtendedBlock> blocks = new HashMap<>();
  static final Map<String, FSDataOutputStream> streams = new HashMap<>();
  static final Map<String, DistributedFileSystem> writers = new HashMap<>();

  static String state(String path) throws Exception {
    INode inode = cluster.getNamesystem().getFSDirectory().getINode(path);
    if (inode == null) return "gone";
    INodeFile file = inode.asFile();
    boolean open = file.isUnderConstruction();
    StringBuilder said = new StringBuilder(open ? "open by " + file.getFileUnderConstructionFeature().getClientName() : "closed");
    said.append(" len ").append(file.computeFileSize(true, false));
    for (BlockInfo b : file.getBlocks()) {
      said.append(" [" + b.getBlockUCState() + " blk_" + b.getBlockId() + "_" + b.getGenerationStamp() + " " + b.getNumBytes() + "]");
    }
    return said.toString();
  }

  static String until(String path, String begins) throws Exception {
    long end = System.currentTimeMillis() + PATIENCE_MS;
    while (!state(path).startsWith(begins) && System.currentTimeMillis() < end) Thread.sleep(10);
    return state(path);
  }

  static ExtendedBlock block(String spelled) {  // "-" and unknown ones are null; NAME or NAME:LENGTH
    String[] parts = spelled.split(":");
    if (!blocks.containsKey(parts[0])) return null;
    ExtendedBlock block = new ExtendedBlock(blocks.get(parts[0]));
    if (parts.length > 1) block.setNumBytes(Long.parseLong(parts[1]));
    return block;
  }

  static long file(String name) { return name.equals("0") ? 0 : files.get(name); }

  /** Begins an upload over WebHDFS; returns where its connection ends. */
  static Socket upload(String path, int length, int sent) throws Exception {
    URL url = new URL("http://127.0.0.1:" + cluster.getNameNode().getHttpAddress().getPort()
        + "/webhdfs/v1" + path + "?op=CREATE&user.name=root&replication=1");
    HttpURLConnection first = (HttpURLConnection) url.openConnection();
    first.setRequestMethod("PUT");
    first.setInstanceFollowRedirects(false);
    URL second = new URL(first.getHeaderField("Location"));
    Socket socket = new Socket(second.getHost(), second.getPort());
    socket.getOutputStream().write(("PUT " + second.getFile() + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + "\r\n\r\n").getBytes());
    socket.getOutputStream().write(new byte[sent]);
    socket.getOutputStream().flush();
    until(path, "open");
    return socket;
  }

  static Object step(String[] w) throws Exception {
    switch (w[0]) {
      case "create": {
        EnumSet<CreateFlag> flags = w.length > 4 ? EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE) : EnumSet.of(CreateFlag.CREATE);
        files.put(w[3], nn.create(w[1], FsPermission.getDefault(), w[2], new EnumSetWritable<>(flags), true, (short) 3, BLOCK,
            CryptoProtocolVersion.supported(), null, null).getFileId());
        return "ok";
      }
      case "append": nn.append(w[1], w[2], new EnumSetWritable<>(EnumSet.of(CreateFlag.APPEND))); return "ok";
      case "addBlock": {
        ExtendedBlock made = nn.addBlock(w[1], w[2], block(w[4]), null, file(w[3]), null, null).getBlock();
        boolean known = blocks.values().stream().anyMatch(b -> b.getBlockId() == made.getBlockId());
        blocks.put(w[5], made);
        return known ? "the same" : "another";
      }
      case "complete": return nn.complete(w[1], w[2], block(w[4]), file(w[3]));
      case "abandon": nn.abandonBlock(block(w[4]) == null ? new ExtendedBlock("", 1, 0, 1) : block(w[4]), file(w[3]), w[1], w[2]); return "ok";
      case "fsync": nn.fsync(w[1], file(w[3]), w[2], Long.parseLong(w[4])); return "ok";
      case "renew": nn.renewLease(w[1], null); return "ok";
      case "recover": return nn.recoverLease(w[1], w[2]);
      case "isClosed": return nn.isFileClosed(w[1]);
      case "rename": return nn.rename(w[1], w[2]);
      case "delete": return nn.delete(w[1], true);
      case "truncate": return nn.truncate(w[1], Long.parseLong(w[2]), w[3]);
      case "concat": nn.concat(w[1], new String[] {w[2]}); return "ok";
      case "attributes":
        nn.setPermission(w[1], new FsPermission((short) 0600));
        nn.setTimes(w[1], 1, 1);
        return nn.setReplication(w[1], (short) 2);
      case "length": return nn.getFileInfo(w[1]).getLen();
      case "located": {
        LocatedBlocks found = nn.getBlockLocations(w[1], 0, 10L * BLOCK);
        return "open " + found.isUnderConstruction() + ", last complete " + found.isLastBlockComplete();
      }
      case "stream": {  // a client of its own, whose lease nothing else renews
        Configuration conf = new Configuration(cluster.getConfiguration(0));
        DistributedFileSystem writer = (DistributedFileSystem) org.apache.hadoop.fs.FileSystem.newInstance(cluster.getURI(), conf);
        writers.put(w[1], writer);
        streams.put(w[1], writer.create(new Path(w[2]), true, 4096, (short) 3, BLOCK));
        return "ok";
      }
      case "write": streams.get(w[1]).write(new byte[Integer.parseInt(w[2])]); return "ok";
      case "hflush": streams.get(w[1]).hflush(); return "ok";
      case "hsync": ((HdfsDataOutputStream) streams.get(w[1])).hsync(EnumSet.of(HdfsDataOutputStream.SyncFlag.UPDATE_LENGTH)); return "ok";
      case "close": streams.get(w[1]).close(); return "ok";
      case "leave": writers.get(w[1]).getClient().getLeaseRenewer().interruptAndJoin(); return "ok";
      case "expire":
        cluster.setLeasePeriod(w[1].equals("soft") ? 1000 : 500, w[1].equals("soft") ? 3600000 : 1500);
        Thread.sleep(w[1].equals("soft") ? 1500 : 4000);
        return "ok";
      case "pause": Thread.sleep(6000); return "ok";
      case "fresh": cluster.setLeasePeriod(60000, 3600000); return "ok";
      case "safemode": nn.setSafeMode(w[1].equals("on") ? SafeModeAction.SAFEMODE_ENTER : SafeModeAction.SAFEMODE_LEAVE, false); return "ok";
      case "put": {
        FSDataOutputStream out = cluster.getFileSystem().create(new Path(w[1]), false, 4096, (short) 3, BLOCK);
        out.write(new byte[Integer.parseInt(w[2])]);
        out.close();
        return "ok";
      }
      case "settle":
        for (; state(w[1]).contains("RECOVERY"); Thread.sleep(100)) {}
        if (state(w[1]).startsWith("open")) Thread.sleep(100);  // the last block's end comes a little before the file's
        return state(w[1]);
      case "state": return state(w[1]);
      case "until": return until(w[1], w[2].replace('_', ' '));
      case "cut": upload(w[1], 1000000, 300000).close(); return "ok";
      case "stop": {
        Socket socket = upload(w[1], 1000000, 300000);
        for (int i = 0; i < cluster.getDataNodes().size(); i++) {
          DataNode datanode = cluster.getDataNodes().get(i);
          if (datanode.getInfoPort() == socket.getPort()) { cluster.stopDataNode(i); break; }
        }
        return "ok";
      }
      default: throw new IllegalArgumentException(w[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.set("hdfs.minidfs.basedir", arguments[0]);
    conf.set("dfs.namenode.fs-limits.min-block-size", "0");
    conf.set("dfs.heartbeat.interval", "1");
    conf.set("dfs.permissions.enabled", "false");
    conf.set("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", "2");
    cluster = new MiniDFSCluster.Builder(conf).numDataNodes(3).build();
    cluster.waitActive();
    nn = cluster.getFileSystem().getClient().getNamenode();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String said;
      try {
        said = String.valueOf(step(line.split(" ")));
      } catch (RemoteException error) {
        said = error.getClassName() + ": " + error.getMessage();
      } catch (Exception error) {
        said = error.toString();
      }
      System.out.println("-> " + said.split("\n")[0]);
    }
    System.exit(0);
  }
}
