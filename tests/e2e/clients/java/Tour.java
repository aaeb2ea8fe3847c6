import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import java.util.HashMap;
import java.util.Map;

/** One line for each step; what the test expects stands in test_clients.py. */
public class Tour {
    public static void main(String[] arguments) {
        for (String endpoint : System.getenv("TOUR_ENDPOINT").split(",")) {
            visit(endpoint);
        }
    }

    private static void visit(String endpoint) {
        try (CosmosClient client = new CosmosClientBuilder()
                .endpoint(endpoint)
                .key(System.getenv("ARMILLARY_KEY"))
                .gatewayMode()
                .contentResponseOnWriteEnabled(true)
                .buildClient()) {
            String name = System.getenv("TOUR_DATABASE");
            client.createDatabase(name);
            say("database", client.createDatabaseIfNotExists(name).getStatusCode());
            CosmosDatabase database = client.getDatabase(name);
            database.createContainerIfNotExists(new CosmosContainerProperties("orders", "/customer"));
            visitItems(database.getContainer("orders"));
            tryDirectMode(endpoint, name);
            database.getContainer("orders").delete();
            database.delete();
            say("gone", refusal(database::read));
        }
    }

    /** This client's own default asks for the addresses of replicas; what it is told must reach its user. */
    private static void tryDirectMode(String endpoint, String name) {
        try (CosmosClient client = new CosmosClientBuilder()
                .endpoint(endpoint)
                .key(System.getenv("ARMILLARY_KEY"))
                .buildClient()) {
            client.getDatabase(name).getContainer("orders").readItem("1001", new PartitionKey("ada"), Map.class);
            say("direct", 200);
        } catch (CosmosException refused) {
            say("direct", refused.getStatusCode(), refused.getMessage().contains("use gateway mode"));
        }
    }

    private static void visitItems(CosmosContainer orders) {
        PartitionKey ada = new PartitionKey("ada");
        CosmosItemResponse<Map> made = orders.upsertItem((Map) order(42.5), ada, null);
        say("upsert", made.getStatusCode(), made.getItem().get("total"));
        CosmosItemResponse<Map> read = orders.readItem("1001", ada, Map.class);
        say("read", read.getStatusCode(), read.getItem().get("text"), read.getRequestCharge());
        CosmosItemRequestOptions matched = new CosmosItemRequestOptions().setIfMatchETag(read.getETag());
        CosmosItemResponse<Map> put = orders.replaceItem((Map) order(45), "1001", ada, matched);
        say("replace", put.getStatusCode(), put.getItem().get("total"));
        say("stale", refusal(() -> orders.replaceItem((Map) order(1), "1001", ada, matched)));
        say("taken", refusal(() -> orders.createItem((Map) order(1), ada, null)));
        say("ranges", orders.getFeedRanges().size());
        say("query", orders.queryItems("SELECT * FROM c WHERE c.total > 40", new CosmosQueryRequestOptions(), Map.class)
                .stream().count());
        say("delete", orders.deleteItem("1001", ada, null).getStatusCode());
        say("missing", refusal(() -> orders.readItem("1001", ada, Map.class)));
    }

    private static Map<String, Object> order(double total) {
        Map<String, Object> order = new HashMap<>();
        order.put("id", "1001");
        order.put("customer", "ada");
        order.put("total", total);
        order.put("text", "größe 日本");
        return order;
    }

    private static int refusal(Runnable call) {
        try {
            call.run();
        } catch (CosmosException refused) {
            return refused.getStatusCode();
        }
        return 0;
    }

    private static void say(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        System.out.println(line);
    }
}
