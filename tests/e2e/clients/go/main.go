// One line for each step; what the test expects stands in test_clients.py.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func refusal(err error) int {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// A client that trusts TOUR_TRUST alone, or what the process trusts.
func open() *azcosmos.Client {
	options := &azcosmos.ClientOptions{}
	options.Retry.MaxRetries = -1
	if trust := os.Getenv("TOUR_TRUST"); trust != "" {
		pem, err := os.ReadFile(trust)
		must(err)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	}
	key, err := azcosmos.NewKeyCredential(os.Getenv("ARMILLARY_KEY"))
	must(err)
	client, err := azcosmos.NewClientWithKey(os.Getenv("TOUR_ENDPOINT"), key, options)
	must(err)
	return client
}

func main() {
	here := context.Background()
	client := open()
	name := os.Getenv("TOUR_DATABASE")
	_, err := client.CreateDatabase(here, azcosmos.DatabaseProperties{ID: name}, nil)
	must(err)
	_, err = client.CreateDatabase(here, azcosmos.DatabaseProperties{ID: name}, nil)
	fmt.Println("database", refusal(err))
	database, err := client.NewDatabase(name)
	must(err)
	_, err = database.CreateContainer(here, azcosmos.ContainerProperties{
		ID:                     "orders",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/customer"}, Version: 2},
	}, nil)
	must(err)
	orders, err := database.NewContainer("orders")
	must(err)
	visitItems(here, orders)
	_, err = orders.Delete(here, nil)
	must(err)
	_, err = database.Delete(here, nil)
	must(err)
	_, err = database.Read(here, nil)
	fmt.Println("gone", refusal(err))
}

func visitItems(here context.Context, orders *azcosmos.ContainerClient) {
	ada := azcosmos.NewPartitionKeyString("ada")
	full := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
	made, err := orders.UpsertItem(here, ada, []byte(`{"id":"1001","customer":"ada","total":42.5,"text":"größe 日本"}`), full)
	must(err)
	fmt.Println("upsert", made.RawResponse.StatusCode, field(made.Value, "total"))
	read, err := orders.ReadItem(here, ada, "1001", nil)
	must(err)
	fmt.Println("read", read.RawResponse.StatusCode, field(read.Value, "text"), read.RequestCharge)
	matched := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true, IfMatchEtag: &read.ETag}
	put, err := orders.ReplaceItem(here, ada, "1001", []byte(`{"id":"1001","customer":"ada","total":45}`), matched)
	must(err)
	fmt.Println("replace", put.RawResponse.StatusCode, field(put.Value, "total"))
	_, err = orders.ReplaceItem(here, ada, "1001", []byte(`{"id":"1001","customer":"ada"}`), matched)
	fmt.Println("stale", refusal(err))
	_, err = orders.CreateItem(here, ada, []byte(`{"id":"1001","customer":"ada"}`), nil)
	fmt.Println("taken", refusal(err))
	found, err := orders.NewQueryItemsPager("SELECT * FROM c WHERE c.total > 40", ada, nil).NextPage(here)
	must(err)
	fmt.Println("query", len(found.Items))
	gone, err := orders.DeleteItem(here, ada, "1001", nil)
	must(err)
	fmt.Println("delete", gone.RawResponse.StatusCode)
	_, err = orders.ReadItem(here, ada, "1001", nil)
	fmt.Println("missing", refusal(err))
}

func field(body []byte, name string) any {
	item := map[string]any{}
	must(json.Unmarshal(body, &item))
	return item[name]
}
