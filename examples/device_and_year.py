"""Two properties joined: device abc-123 and year 2018 are the partition key abc-123-2018.

armillary run -- python examples/device_and_year.py
"""

import os
import uuid

from azure.cosmos import CosmosClient, PartitionKey

from armillary.clients.cosmos import Meter, keyed
from armillary.keys.synthetic import concat

client = CosmosClient(os.environ["ARMILLARY_HTTP_ENDPOINT"], os.environ["ARMILLARY_KEY"])
database = client.create_database(f"example-{uuid.uuid4().hex[:8]}")
container = database.create_container("readings", PartitionKey("/partitionKey"))

by_device_and_year = concat("/deviceId", "/date")
readings = keyed(container, by_device_and_year)

written = Meter()
for year in (2017, 2018):
    for number in range(5):
        item = {"id": f"reading {number}", "deviceId": "abc-123", "date": year, "celsius": 20 + number}
        made = readings.create_item(item, response_hook=written)
print(f"the key of the last item: {made['partitionKey']}")
print(f"{written.calls} writes: {written.units} RU")

read = Meter()
one = readings.read_item("reading 3", {"deviceId": "abc-123", "date": 2018}, response_hook=read)
print(f"one item by device and year: {one['celsius']} degrees, {read.calls} read, {read.units} RU")

listed = Meter()
year_2018 = list(readings.read_items({"deviceId": "abc-123", "date": 2018}, response_hook=listed))
print(f"a device's year: {len(year_2018)} items, {listed.calls} read, {listed.units} RU")

# An unmodified client reads the same item by the key as it stands in it.
same = container.read_item("reading 3", partition_key="abc-123-2018")
print(f"without the library: {same['celsius']} degrees")
client.delete_database(database)
