"""A day spread by a number that follows from the VIN: as even as a random one, and one item costs one read.

armillary run -- python examples/vin_and_date.py
"""

import os
import random
import uuid

from azure.cosmos import CosmosClient, PartitionKey

from armillary.clients.cosmos import Meter, keyed
from armillary.keys.synthetic import Strategy, balanced_suffix, hash_suffix, random_suffix

DATE = "2018-08-09"
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
VINS = ["".join(random.Random(number).choices(LETTERS, k=17)) for number in range(200)]

client = CosmosClient(os.environ["ARMILLARY_HTTP_ENDPOINT"], os.environ["ARMILLARY_KEY"])
database = client.create_database(f"example-{uuid.uuid4().hex[:8]}")


def drive(name: str, strategy: Strategy) -> None:
    """Write a day of cars, find one of them by VIN and date, read the day."""
    container = database.create_container(name, PartitionKey("/partitionKey"))
    cars = keyed(container, strategy)
    written, found, listed = Meter(), Meter(), Meter()
    for vin in VINS:
        cars.create_item({"id": vin, "vin": vin, "date": DATE}, response_hook=written)
    # A random suffix does not follow from the VIN, so only the date is of use.
    sources = {"date": DATE} if name == "random" else {"date": DATE, "vin": VINS[7]}
    item = cars.read_item(VINS[7], sources, response_hook=found)
    day = list(cars.read_items({"date": DATE}, response_hook=listed))
    print(f"{name}: {VINS[7]} is under {item['partitionKey']}")
    print(f"  {written.calls} writes, {written.units} RU")
    print(f"  one item by VIN and date: {found.calls} {'read' if found.calls == 1 else 'reads'}, {found.units} RU")
    print(f"  the day, {len(day)} items: {listed.calls} reads, {listed.units} RU")


drive("hashed", hash_suffix("/date", by="/vin", count=400))
drive("balanced", balanced_suffix("/date", by="/vin", count=8))
drive("random", random_suffix("/date", 400))
client.delete_database(database)
