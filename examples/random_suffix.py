"""A day spread over 2018-08-09.1 to 2018-08-09.400 by a random number: even writes, and every read is a fan-out.

armillary run -- python examples/random_suffix.py
"""

import os
import uuid

from azure.cosmos import CosmosClient, PartitionKey, exceptions

from armillary.clients.cosmos import Meter, keyed
from armillary.keys.synthetic import random_suffix

DAY = {"date": "2018-08-09"}

client = CosmosClient(os.environ["ARMILLARY_HTTP_ENDPOINT"], os.environ["ARMILLARY_KEY"])
database = client.create_database(f"example-{uuid.uuid4().hex[:8]}")
container = database.create_container("events", PartitionKey("/partitionKey"))

spread = random_suffix("/date", 400)
keys = spread.for_read(**DAY)
print(f"the keys of a day: {keys[0]} to {keys[-1]}, {len(keys)} of them")
events = keyed(container, spread)

written = Meter()
used = {events.create_item({"id": str(number), **DAY}, response_hook=written)["partitionKey"] for number in range(200)}
print(f"{written.calls} writes under {len(used)} keys: {written.units} RU")

# Nobody knows the suffix of an item: its id is looked for under all keys, some side by side, until one has it.
missing = Meter()
found = Meter()
events.read_item("77", DAY, response_hook=found)
print(f"one item by its id: {found.calls} reads, {found.units} RU")
try:
    events.read_item("none", DAY, response_hook=missing)
except exceptions.CosmosResourceNotFoundError as error:
    print(f"an item that is not there: {type(error).__name__} after {missing.calls} reads, {missing.units} RU")

listed = Meter()
day = list(events.read_items(DAY, order_by="/id", response_hook=listed))
print(f"the whole day in order: {len(day)} items, {listed.calls} reads, {listed.units} RU")
client.delete_database(database)
