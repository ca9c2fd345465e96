import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.raft.ExpirationService;
import org.apache.kafka.raft.Isolation;
import org.apache.kafka.raft.KafkaRaftClient;
import org.apache.kafka.raft.LogFetchInfo;
import org.apache.kafka.raft.NetworkChannel;
import org.apache.kafka.raft.QuorumStateStore;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.raft.RaftMessageQueue;
import org.apache.kafka.raft.RaftRequest;
import org.apache.kafka.raft.RaftResponse;

/**
 * Runs the KafkaRaftClients of one release in one process, without threads, sockets or time.
 *
 * A node does nothing until a command concerns it. Then it is polled until it waits. Its clock stands still: a command
 * makes one of its timers expire. What it sends is held, at most one request for each other node, until a command
 * delivers it. Files are those of Kafka: the log, and quorum-state.
 *
 * Reads a command as JSON from each line of its input, and writes the result, or what was wrong, as a line of JSON.
 * Constructors and methods that differ between releases are looked up by name, and called by the types of their
 * parameters.
 */
public class Controllers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final ListenerName LISTENER = ListenerName.normalised("CONTROLLER");
    static final TopicPartition PARTITION = new TopicPartition("__cluster_metadata", 0);
    static final int MOST_POLLS = 200;
    static final int MANY_BYTES = 8 << 20;
    static final int ONE_RECORD = 1;
    static final int FETCH_TIMEOUT = 2000;
    static final int FIRST_PORT = 10000;

    static final Map<Integer, Node> NODES = new TreeMap<>();
    static int correlations = 0;

    /** The supported versions of kraft.version. Releases that have none refuse such a range. */
    static SupportedVersionRange versions() {
        return new SupportedVersionRange((short) 0, (short) 1);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Object found;
            try {
                found = handle(JSON.readTree(line));
            } catch (Throwable error) {
                Throwable cause = causeOf(error);
                cause.printStackTrace();
                found = Map.of("error", cause.toString());
            }
            out.println(JSON.writeValueAsString(found == null ? Map.of() : found));
            out.flush();
        }
    }

    static Object handle(JsonNode command) throws Throwable {
        Node node = NODES.get(command.path("node").asInt());
        switch (command.get("do").asText()) {
            case "start":
                return new Node(command).start();
            case "stop":
                NODES.remove(node.id).close();
                return null;
            case "deliver":
                return node.deliver(command.get("to").asInt(), command.get("api").asText(), command.get("answered").asBoolean());
            case "expire":
                return node.expire(command.get("timers"));
            case "announce":
                return node.announce();
            case "change":
                return node.change(command.get("voter").asInt(), Uuid.fromString(command.get("directory").asText()), command.get("adds").asBoolean());
            case "append":
                return node.append(command.get("value").asText());
            case "snapshot":
                return node.snapshot(command.get("end").asInt(), command.get("epoch").asInt());
            case "delete":
                call(node.log, "deleteBeforeSnapshot", offsetAndEpoch(command.get("end").asInt(), command.get("epoch").asInt()));
                return node.settle();
            case "resign":
                call(node.client, "resign", epochOf(node.client));
                return node.settle();
            case "observe":
                Map<String, Object> seen = new TreeMap<>();
                for (Node each : NODES.values()) seen.put(Integer.toString(each.id), each.observed());
                return seen;
            default:
                throw new IllegalArgumentException("unknown command " + command);
        }
    }

    /** A node with its client, which may have stopped by itself, and the requests that it has sent. */
    static class Node {
        final int id;
        final File folder;
        final Clock clock = new Clock();
        final Map<Integer, InetSocketAddress> voters = new TreeMap<>();
        final List<InetSocketAddress> servers = new ArrayList<>(); // with kraft.version 1, controller.quorum.bootstrap.servers
        final Map<Integer, Uuid> first = new TreeMap<>();
        final Object queue = madeOf(firstOf("org.apache.kafka.raft.internals.BlockingMessageQueue"), List.of());
        final Map<Integer, Sent> sent = new HashMap<>();
        final Uuid directory;
        KafkaRaftClient<Object> client;
        Object log;
        String halted = "";
        boolean told = false;
        int consumed = 0;

        Node(JsonNode command) throws Exception {
            id = command.get("node").asInt();
            folder = new File(command.get("folder").asText());
            directory = Uuid.fromString(command.get("directory").asText());
            for (JsonNode each : command.get("servers")) servers.add(address(each.asInt()));
            for (JsonNode each : command.get("voters")) {
                int voter = each.get(0).asInt();
                if (servers.isEmpty()) voters.put(voter, address(voter));
                else first.put(voter, Uuid.fromString(each.get(1).asText()));
            }
        }

        Object start() throws Throwable {
            File partition = new File(folder, PARTITION.topic() + "-" + PARTITION.partition());
            Files.createDirectories(partition.toPath());
            log = madeLog(partition);
            try {
                Object store = madeOf(firstOf("FileQuorumStateStore", "FileBasedStateStore"), List.of(new File(folder, "quorum-state")));
                Class<?> config = firstOf("QuorumConfig", "RaftConfig");
                List<Object> parts = new ArrayList<>(List.of(
                    OptionalInt.of(id), directory, fake(firstOf("RecordSerde", "org.apache.kafka.server.common.serialization.RecordSerde"), this::serialize),
                    fake(NetworkChannel.class, this::network), fake(RaftMessageQueue.class, this::messages), log, store,
                    MemoryPool.NONE, clock, new Metrics(clock), fake(ExpirationService.class, (name, with) -> new CompletableFuture<>()),
                    madeOf(firstOf("org.apache.kafka.common.utils.LogContext", "org.apache.kafka.common.utils.internals.LogContext"), List.of("[node " + id + "] ")), "leadline", random(Math.max(voters.size(), servers.size())), madeOf(config, List.of(settings(config, voters.keySet()))), voters, servers, true, 0));
                Class<?> endpoints = classOf("org.apache.kafka.raft.Endpoints");
                if (endpoints != null) { // since 3.9, for kraft.version 1
                    parts.add(endpointsOf(id));
                    parts.add(versions());
                }
                if (!first.isEmpty()) format();
                Class<?> metrics = classOf("org.apache.kafka.raft.ExternalKRaftMetrics");
                if (metrics != null) parts.add(fake(metrics, (name, with) -> null));
                client = madeOf(KafkaRaftClient.class, parts);
                Method initialize = methodOf(KafkaRaftClient.class, "initialize", null);
                invoked(initialize, client, chosen(initialize, parts));
                client.register(fake(RaftClient.Listener.class, this::listen));
                NODES.put(id, this);
            } catch (Throwable error) {
                error.printStackTrace();
                call(log, "close");
                return Map.of("refused", causeOf(error).toString());
            }
            return settle();
        }

        /** Write the checkpoint with the first voters, as formatting with kraft.version 1 does. */
        void format() throws Exception {
            Object start = fieldOf(classOf("org.apache.kafka.snapshot.Snapshots"), "BOOTSTRAP_SNAPSHOT_ID").get(null);
            Optional<?> snapshot = (Optional<?>) call(log, "createNewSnapshotUnchecked", start);
            if (snapshot.isEmpty()) return; // formatted before
            Map<Integer, Object> members = new HashMap<>();
            for (var each : first.entrySet()) {
                Object key = call(firstOf("ReplicaKey"), "of", each.getKey(), each.getValue());
                members.put(each.getKey(), call(firstOf("VoterSet$VoterNode"), "of", key, endpointsOf(each.getKey()), versions()));
            }
            Object builder = madeOf(classOf("org.apache.kafka.snapshot.RecordsSnapshotWriter$Builder"), List.of());
            call(builder, "setKraftVersion", call(classOf("org.apache.kafka.server.common.KRaftVersion"), "valueOf", "KRAFT_VERSION_1"));
            call(builder, "setVoterSet", Optional.of(call(firstOf("VoterSet"), "fromMap", members)));
            call(builder, "setRawSnapshotWriter", snapshot.get());
            Object writer = call(builder, "build", fake(firstOf("RecordSerde", "org.apache.kafka.server.common.serialization.RecordSerde"), this::serialize));
            call(writer, "freeze");
            call(writer, "close");
        }

        /** Ask a leader to add or remove a voter. It asks a new voter for its versions, which is answered at once. */
        Object change(int voter, Uuid directory, boolean adds) throws Throwable {
            Object key = call(firstOf("ReplicaKey"), "of", voter, directory);
            Method make = methodOf(firstOf("RaftUtil"), adds ? "addVoterRequest" : "removeVoterRequest", null);
            ApiMessage data = (ApiMessage) invoked(make, null, chosen(make, List.of("leadline", FETCH_TIMEOUT, key, endpointsOf(voter), true)));
            if (sent.containsKey(voter)) fail(sent.get(voter));
            settle();
            CompletableFuture<?> completion = handled(correlations++, data);
            Sent asked = sent.get(voter);
            if (asked != null && asked.message.data() instanceof ApiVersionsRequestData) {
                ApiVersionsResponseData versions = new ApiVersionsResponseData();
                versions.supportedFeatures().add(new ApiVersionsResponseData.SupportedFeatureKey()
                    .setName("kraft.version").setMinVersion(versions().min()).setMaxVersion(versions().max()));
                answer(asked, versions);
                settle();
            }
            RaftResponse.Outbound response = (RaftResponse.Outbound) completion.getNow(null); // else it waits for the commit
            if (response != null && (Short) call(response.data(), "errorCode") != 0) throw new IllegalStateException(response.data().toString());
            return null;
        }

        /** Let a request arrive. */
        CompletableFuture<?> handled(int correlation, ApiMessage data) throws Throwable {
            short version = ApiKeys.forId(data.apiKey()).latestVersion();
            RaftRequest.Inbound arriving = madeOf(RaftRequest.Inbound.class, List.of(LISTENER, correlation, version, data, clock.now));
            CompletableFuture<?> completion = completionOf(arriving, call(client, "handle", arriving));
            settle();
            return completion;
        }

        void close() throws Throwable {
            call(client, "close");
            call(log, "close");
        }

        /** Poll until nothing happens. Requests of a former role are lost. */
        Object settle() {
            try {
                Object before = null;
                for (int polls = 0, quiet = 0; quiet < 3 && halted.isEmpty(); polls++) {
                    if (polls == MOST_POLLS) throw new IllegalStateException("node " + id + " does not come to rest");
                    Object state = role();
                    int read = consumed;
                    boolean lost = false;
                    for (Sent each : List.copyOf(sent.values())) {
                        if (each.role != state) {
                            fail(each);
                            lost = true;
                        }
                    }
                    client.poll();
                    quiet = state == before && (Boolean) call(queue, "isEmpty") && !lost && consumed == read ? quiet + 1 : 0;
                    before = state;
                }
            } catch (Throwable error) {
                error.printStackTrace();
                halted = error.toString();
            }
            return null;
        }

        Object role() throws Exception {
            return valueOf(call(client, "quorum"), "state");
        }

        /** Deliver a request and, if it shall be answered, its response. Return the request's and the response's data. */
        Object deliver(int to, String api, boolean answered) throws Throwable {
            Sent request = sent.get(to);
            for (int tries = 0; api.equals("FETCH") && request == null && !sent.isEmpty() && tries < MOST_POLLS; tries++) {
                fail(sent.values().iterator().next()); // an unattached node asks one node at a time, at random
                settle();
                request = sent.get(to);
            }
            if (request == null || !ApiKeys.forId(request.message.data().apiKey()).name().equals(api)) {
                throw new IllegalStateException("node " + id + " has sent no " + api + " to node " + to + (request == null ? "" : ", but " + request.message));
            }
            ApiMessage data = (ApiMessage) request.message.data().duplicate();
            Node other = NODES.get(to);
            RaftResponse.Outbound response = null;
            if (other != null && other.halted.isEmpty()) {
                response = (RaftResponse.Outbound) other.handled(request.message.correlationId(), data).getNow(null);
            }
            if (response != null && answered) {
                copyRecords(response.data());
                answer(request, response.data());
            } else {
                fail(request);
            }
            settle();
            return Map.of("request", data.toString(), "response", response == null ? "" : response.data().toString());
        }

        void answer(Sent request, ApiMessage response) throws Exception {
            sent.remove(request.to, request);
            request.completion.complete(madeOf(
                RaftResponse.Inbound.class, List.of(request.message.correlationId(), response, request.destination)));
        }

        /** Answer a request as KafkaNetworkChannel does if the connection is closed. */
        void fail(Sent request) throws Exception {
            ApiKeys api = ApiKeys.forId(request.message.data().apiKey());
            answer(request, (ApiMessage) call(firstOf("RaftUtil"), "errorResponse", api, Errors.BROKER_NOT_AVAILABLE));
        }

        /** Let timers of the node's role expire, whichever of the given ones it has, until it leaves the role. */
        Object expire(JsonNode names) throws Throwable {
            Object before = role();
            for (int tries = 0; tries < 2 && role() == before; tries++) { // a candidate waits twice, before 4.1
                List<Timer> timers = new ArrayList<>();
                for (JsonNode name : names) {
                    if (fieldOf(before.getClass(), name.asText()) != null) timers.add((Timer) valueOf(before, name.asText()));
                }
                if (timers.isEmpty()) throw new IllegalStateException("node " + id + " has no such timer as " + roleName());
                for (Timer each : timers) each.update(each.currentTimeMs() + each.remainingMs());
                settle();
            }
            return null;
        }

        /** Let a leader tell others again that it leads, as it does since 3.9 after half of the fetch time-out. */
        Object announce() throws Throwable {
            Object leader = role();
            if (fieldOf(leader.getClass(), "beginQuorumEpochTimer") == null) throw new IllegalStateException("it says only once that it leads");
            Timer check = (Timer) valueOf(leader, "checkQuorumTimer");
            long remaining = check.remainingMs();
            clock.now += FETCH_TIMEOUT / 2;
            check.update(clock.now);
            check.reset(remaining);
            return settle();
        }

        Object append(String value) throws Throwable {
            Method method = methodOf(KafkaRaftClient.class, "prepareAppend", null);
            boolean prepares = method != null;
            if (!prepares) method = methodOf(KafkaRaftClient.class, "scheduleAppend", null);
            invoked(method, client, epochOf(client), List.of(value));
            if (prepares) call(client, "schedulePreparedAppend");
            return settle();
        }

        /** Take a snapshot of the records before an offset, without content: the state machine is not Kafka's. */
        Object snapshot(int end, int epoch) throws Throwable {
            Object id = offsetAndEpoch(end, epoch);
            Method create = methodOf(KafkaRaftClient.class, "createSnapshot", null); // before 3.3, with the last offset and its epoch
            Optional<?> writer = (Optional<?>) invoked(create, client, chosen(create, List.of(id, end - 1L, 0L, epoch)));
            call(writer.get(), "freeze");
            call(writer.get(), "close");
            return settle();
        }

        String roleName() throws Exception {
            return role().getClass().getSimpleName().replace("State", "");
        }

        Object observed() throws Throwable {
            Map<String, Object> seen = new LinkedHashMap<>();
            seen.put("halted", halted);
            seen.put("role", roleName());
            seen.put("epoch", epochOf(client));
            seen.put("leader", ((OptionalInt) memberOf(client.leaderAndEpoch(), "leaderId")).orElse(-1));
            seen.put("announced", client.highWatermark().orElse(-1));
            seen.put("high_watermark", memberOf(call(log, "highWatermark"), "offset")); // what the log does not forget
            seen.put("told", told);
            Path file = new File(folder, "quorum-state").toPath();
            seen.put("file", Files.exists(file) ? Files.readString(file) : "");
            seen.put("log", records());
            seen.put("start", call(log, "startOffset"));
            Optional<?> snapshot = (Optional<?>) call(log, "latestSnapshotId");
            seen.put("snapshot", snapshot.isPresent() ? memberOf(snapshot.get(), "offset") : 0);
            seen.put("oldest", snapshot.isPresent() ? memberOf(((Optional<?>) call(log, "earliestSnapshotId")).get(), "offset") : 0);
            Map<String, String> requests = new TreeMap<>();
            for (Sent each : sent.values()) requests.put(Integer.toString(each.to), ApiKeys.forId(each.message.data().apiKey()).name());
            seen.put("sent", requests);
            Field state = fieldOf(KafkaRaftClient.class, "partitionState"); // since 3.9: what it has read of its log
            if (state != null) seen.put("voters", call(call(state.get(client), "lastVoterSet"), "voterIds"));
            return seen;
        }

        /** Read the log: for each record its offset, epoch, and value, or the leader or voters that it names. */
        List<Object> records() throws Throwable {
            List<Object> found = new ArrayList<>();
            Method read = methodOf(log.getClass(), "read", null);
            for (long offset = (Long) call(log, "startOffset"), last = -1; offset > last; ) {
                last = offset;
                LogFetchInfo info = (LogFetchInfo) invoked(read, log, chosen(read, List.of(offset, Isolation.UNCOMMITTED, 1 << 20)));
                for (var batch : info.records.batches()) {
                    boolean begins = false;
                    for (var record : batch) {
                        if (begins) continue; // an epoch may begin with several records in one batch
                        ByteBuffer value = record.value().duplicate();
                        Map<String, Object> one = new LinkedHashMap<>();
                        one.put("offset", record.offset());
                        one.put("epoch", batch.partitionLeaderEpoch());
                        if (batch.isControlBatch()) {
                            short kind = record.key().getShort(record.key().position() + 2);
                            begins = kind == 2 || kind == 3;
                            if (kind == 6) one.put("voters", votersIn(record, value));
                            else if (kind == 2) one.put("leader", value.getInt(value.position() + 2)); // after its version
                            else if (kind == 3) one.put("leader", value.getInt(value.position())); // in 2.8
                        } else {
                            byte[] bytes = new byte[value.remaining()];
                            value.get(bytes);
                            one.put("value", new String(bytes));
                        }
                        found.add(one);
                    }
                    offset = batch.nextOffset();
                }
            }
            return found;
        }

        Object serialize(String name, Object[] with) {
            switch (name) {
                case "recordSize": return ((String) with[0]).getBytes().length;
                case "write":
                    ((Writable) with[2]).writeByteArray(((String) with[0]).getBytes());
                    return null;
                default:
                    byte[] bytes = new byte[(Integer) with[1]];
                    for (int at = 0; at < bytes.length; at++) bytes[at] = ((Readable) with[0]).readByte();
                    return new String(bytes);
            }
        }

        Object network(String name, Object[] with) throws Exception {
            switch (name) {
                case "newCorrelationId": return correlations++;
                case "listenerName": return LISTENER;
                case "send":
                    Sent request = new Sent((RaftRequest.Outbound) with[0], role());
                    sent.put(request.to, request);
                    return request.completion;
                default: return null;
            }
        }

        /** The release's own queue, which does not wait. */
        Object messages(String name, Object[] with) throws Exception {
            return call(queue, name, name.equals("poll") ? new Object[] {0L} : with == null ? new Object[0] : with);
        }

        Object listen(String name, Object[] with) throws Throwable {
            consumed++;
            if (name.equals("handleCommit") || name.startsWith("handleLoad") || name.equals("handleSnapshot")) ((AutoCloseable) with[0]).close();
            if (name.equals("handleLeaderChange")) told = ((OptionalInt) memberOf(with[0], "leaderId")).orElse(-1) == id;
            if (name.equals("handleClaim")) told = true;
            if (name.equals("handleResign")) told = false;
            return null;
        }
    }

    /** A request that is held, with the role of its sender. */
    static class Sent {
        final RaftRequest.Outbound message;
        final CompletableFuture<Object> completion;
        final Object role;
        final Object destination;
        final int to;

        Sent(RaftRequest.Outbound message, Object role) throws Exception {
            this.message = message;
            this.role = role;
            completion = completionOf(message, new CompletableFuture<>());
            Method id = methodOf(message.getClass(), "destinationId", null);
            destination = id != null ? invoked(id, message) : call(message, "destination");
            to = destination instanceof Integer ? (Integer) destination : ((org.apache.kafka.common.Node) destination).port() - FIRST_PORT;
        }
    }

    /** Where the response to a request goes: a field of the request, before 4.4. */
    @SuppressWarnings("unchecked")
    static CompletableFuture<Object> completionOf(RaftRequest request, Object other) throws Exception {
        Field field = fieldOf(request.getClass(), "completion");
        return (CompletableFuture<Object>) (field == null ? other : field.get(request));
    }

    /** A clock that stands still. */
    static class Clock implements Time {
        long now = 1_000_000;

        public long milliseconds() { return now; }
        public long hiResClockMs() { return now; }
        public long nanoseconds() { return TimeUnit.MILLISECONDS.toNanos(now); }
        public void sleep(long milliseconds) { now += milliseconds; }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
    }

    /** Choices among all voters are random, and so are times to wait, of which none is 0. */
    static Random random(int voters) {
        return new Random(voters) {
            public int nextInt(int bound) {
                int chosen = super.nextInt(bound);
                return bound == voters || bound == 1 ? chosen : Math.max(1, chosen);
            }
        };
    }

    static InetSocketAddress address(int id) {
        return InetSocketAddress.createUnresolved("localhost", FIRST_PORT + id);
    }

    static Object endpointsOf(int id) throws Exception {
        return call(firstOf("Endpoints"), "fromInetSocketAddresses", Map.of(LISTENER, address(id)));
    }

    /** The voters that a record names. */
    static List<Object> votersIn(Object record, ByteBuffer value) throws Exception {
        Class<?> records = firstOf("org.apache.kafka.common.record.ControlRecordUtils", "org.apache.kafka.common.record.internal.ControlRecordUtils");
        Method read = methodOf(records, "deserializeVotersRecord", null);
        List<Object> found = new ArrayList<>();
        for (Object voter : (List<?>) call(invoked(read, null, chosen(read, List.of(record, value))), "voters")) found.add(call(voter, "voterId"));
        return found;
    }

    static int epochOf(KafkaRaftClient<?> client) throws Exception {
        return (Integer) memberOf(client.leaderAndEpoch(), "epoch");
    }

    static Object offsetAndEpoch(int offset, int epoch) throws Exception {
        return madeOf(firstOf("OffsetAndEpoch", "org.apache.kafka.server.common.OffsetAndEpoch"), List.of((long) offset, epoch));
    }

    static Object madeLog(File folder) throws Exception {
        Class<?> own = classOf("org.apache.kafka.raft.internals.KafkaRaftLog"); // before 4.3, KafkaMetadataLog in core
        Class<?> scheduler = classOf("org.apache.kafka.server.util.Scheduler");
        Method make = own != null ? methodOf(own, "createLog", null) : methodOf(classOf("kafka.raft.KafkaMetadataLog"), "apply", null);
        if (!Arrays.asList(make.getParameterTypes()).contains(scheduler)) scheduler = classOf("kafka.utils.Scheduler");
        List<Object> parts = new ArrayList<>(List.of(
            PARTITION, new Uuid(0, 1), folder, new Clock(), fake(scheduler, Controllers::schedule), MANY_BYTES, ONE_RECORD));
        Class<?> config = firstOf("MetadataLogConfig", "kafka.raft.MetadataLogConfig");
        if (config != null) {
            List<Object> limits = List.of(MANY_BYTES, MANY_BYTES, MANY_BYTES, ONE_RECORD, Long.MAX_VALUE / 4);
            parts.add(fieldOf(config, "CONFIG_DEF") == null ? madeOf(config, limits) : madeOf(config, List.of(settings(config, List.of()))));
        }
        return invoked(make, null, chosen(make, parts));
    }

    /** What Kafka writes soon, it writes at once: the file with the epochs of a log that was truncated, KAFKA-15046. */
    static Object schedule(String name, Object[] with) {
        if (name.equals("scheduleOnce") && with.length == 2) ((Runnable) with[1]).run();
        return null;
    }

    /** The settings: nothing is waited for before a request or an append, and a fetch returns one batch. */
    static AbstractConfig settings(Class<?> config, Collection<Integer> voters) throws Exception {
        String prefix = "controller.quorum.";
        Map<String, Object> values = new HashMap<>(Map.of(
            prefix + "retry.backoff.ms", 0, prefix + "append.linger.ms", 0, prefix + "election.timeout.ms", 1000,
            prefix + "election.backoff.max.ms", 1000, prefix + "fetch.timeout.ms", FETCH_TIMEOUT, prefix + "request.timeout.ms", 1 << 30,
            prefix + "fetch.max.bytes", ONE_RECORD, "internal.metadata.max.fetch.size.in.bytes", ONE_RECORD));
        values.put(prefix + "voters", voters.stream().map(id -> id + "@localhost:" + (FIRST_PORT + id)).collect(Collectors.joining(",")));
        Field defined = fieldOf(config, "CONFIG_DEF");
        if (defined != null) return new AbstractConfig((ConfigDef) defined.get(null), values, false);
        ConfigDef own = new ConfigDef();
        values.forEach((name, value) -> own.define(
            name, value instanceof Integer ? ConfigDef.Type.INT : ConfigDef.Type.LIST, value, ConfigDef.Importance.LOW, ""));
        return new AbstractConfig(own, values, false);
    }

    /** Replace the records of a response, which are in a file, by a copy. */
    static void copyRecords(ApiMessage response) throws Exception {
        if (response instanceof FetchSnapshotResponseData) copySnapshot((FetchSnapshotResponseData) response);
        if (!(response instanceof FetchResponseData)) return;
        Class<?> memory = firstOf("org.apache.kafka.common.record.MemoryRecords", "org.apache.kafka.common.record.internal.MemoryRecords");
        for (var topic : ((FetchResponseData) response).responses()) {
            Method partitions = firstOf(topic.getClass(), "partitions", "partitionResponses");
            for (Object partition : (List<?>) invoked(partitions, topic)) {
                Object records = invoked(firstOf(partition.getClass(), "records", "recordSet"), partition);
                if (records == null || methodOf(records.getClass(), "readInto", 2) == null) continue;
                ByteBuffer bytes = ByteBuffer.allocate((Integer) call(records, "sizeInBytes"));
                call(records, "readInto", bytes, 0);
                invoked(firstOf(partition.getClass(), "setRecords", "setRecordSet"), partition, call(memory, "readableRecords", bytes));
            }
        }
    }

    static void copySnapshot(FetchSnapshotResponseData response) throws Exception {
        Class<?> memory = firstOf("org.apache.kafka.common.record.UnalignedMemoryRecords", "org.apache.kafka.common.record.internal.UnalignedMemoryRecords");
        for (var topic : response.topics()) {
            for (Object partition : (List<?>) call(topic, "partitions")) {
                Object records = call(partition, "unalignedRecords");
                if (records == null || fieldOf(records.getClass(), "channel") == null) continue;
                ByteBuffer bytes = ByteBuffer.allocate((Integer) call(records, "sizeInBytes"));
                ((FileChannel) valueOf(records, "channel")).read(bytes, (Long) valueOf(records, "position"));
                call(partition, "setUnalignedRecords", madeOf(memory, List.of(bytes.flip())));
            }
        }
    }

    // --- what differs between releases -------------------------------------------------------------------------------

    static Class<?> classOf(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException error) {
            return null;
        }
    }

    /** The first class that the release has. Those without a package are in org.apache.kafka.raft. */
    static Class<?> firstOf(String... names) {
        for (String name : names) {
            Class<?> found = classOf(name.contains(".") ? name : "org.apache.kafka.raft." + name);
            if (found != null) return found;
        }
        return null;
    }

    /** The first method that the release has. */
    static Method firstOf(Class<?> type, String... names) {
        for (String name : names) {
            Method found = methodOf(type, name, null);
            if (found != null) return found;
        }
        throw new IllegalStateException("this release's " + type.getSimpleName() + " has no method " + String.join(" or ", names));
    }

    /** Call the constructor with the most parameters for which there are values. */
    @SuppressWarnings("unchecked")
    static <T> T madeOf(Class<T> type, List<?> parts) throws Exception {
        List<Constructor<?>> all = new ArrayList<>(Arrays.asList(type.getDeclaredConstructors()));
        all.sort(Comparator.comparingInt((Constructor<?> each) -> -each.getParameterCount()));
        for (Constructor<?> each : all) {
            Object[] values = chosen(each, parts);
            if (values == null) continue;
            each.setAccessible(true);
            try {
                return (T) each.newInstance(values);
            } catch (InvocationTargetException error) {
                throw error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
            }
        }
        throw new IllegalStateException("this release's " + type + " is made of other parts: " + all);
    }

    /** For each parameter, the next value of its type, or the last one again; null if a parameter has none. */
    static Object[] chosen(Executable executable, List<?> parts) {
        List<Object> values = new ArrayList<>();
        Map<Class<?>, Integer> taken = new HashMap<>();
        for (Class<?> parameter : executable.getParameterTypes()) {
            Class<?> type = MethodType.methodType(parameter).wrap().returnType();
            List<?> fitting = parts.stream().filter(type::isInstance).collect(Collectors.toList());
            if (fitting.isEmpty()) return null;
            values.add(fitting.get(Math.min(taken.merge(type, 1, Integer::sum), fitting.size()) - 1));
        }
        return values.toArray();
    }

    interface Handler {
        Object handle(String name, Object[] with) throws Throwable;
    }

    @SuppressWarnings("unchecked")
    static <T> T fake(Class<T> type, Handler handler) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, with) -> {
            switch (method.getName()) {
                case "hashCode": return System.identityHashCode(proxy);
                case "equals": return proxy == with[0];
                case "toString": return type.getSimpleName();
                default:
                    Object found = handler.handle(method.getName(), with);
                    return found != null ? found : nothing(method.getReturnType());
            }
        });
    }

    static Object nothing(Class<?> type) {
        if (type == long.class) return 0L;
        if (type == boolean.class) return false;
        return type == ScheduledFuture.class ? fake(type, (name, with) -> null) : null;
    }

    static Method methodOf(Class<?> type, String name, Integer count) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isSynthetic() && (count == null || method.getParameterCount() == count)) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        return null;
    }

    static Field fieldOf(Class<?> type, String name) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }

    static Object valueOf(Object owner, String name) throws Exception {
        return fieldOf(owner.getClass(), name).get(owner);
    }

    /** The value of a method without parameters, or of a field: 2.8 has fields. */
    static Object memberOf(Object owner, String name) throws Exception {
        Method method = methodOf(owner.getClass(), name, 0);
        return method != null ? invoked(method, owner) : valueOf(owner, name);
    }

    static Object call(Object owner, String name, Object... values) throws Exception {
        boolean isStatic = owner instanceof Class;
        Class<?> type = isStatic ? (Class<?>) owner : owner.getClass();
        Method method = methodOf(type, name, values.length);
        if (method == null) throw new IllegalStateException("this release's " + type.getSimpleName() + " has no method " + name);
        return invoked(method, isStatic ? null : owner, values);
    }

    static Object invoked(Method method, Object owner, Object... values) throws Exception {
        try {
            return method.invoke(owner, values);
        } catch (InvocationTargetException error) {
            throw error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
        }
    }

    static Throwable causeOf(Throwable error) {
        return error instanceof InvocationTargetException && error.getCause() != null ? error.getCause() : error;
    }
}
