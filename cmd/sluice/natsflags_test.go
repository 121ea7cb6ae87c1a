package main

import (
	"strings"
	"testing"

	"sluice/queue"
)

// A NATS URL may hold a password or a token: an error names the address without it.
func TestErrorsHideTheCredentialsOfANATSURL(t *testing.T) {
	const secret = "geh%eim"
	for _, c := range []struct{ url, shown string }{
		{"nats://user:" + secret + "@127.0.0.1:1", "nats://***@127.0.0.1:1"},
		{"nats://" + secret + "@127.0.0.1:1", "nats://***@127.0.0.1:1"},
		{"user:" + secret + "@127.0.0.1:1", "***@127.0.0.1:1"},
		{"nats://user:" + secret + "@127.0.0.1:port", "nats://***@127.0.0.1:port"},
		{"nats://a:" + secret + "@127.0.0.1:1,tls://b:" + secret + "/@127.0.0.1:2", "nats://***@127.0.0.1:1,tls://***@127.0.0.1:2"},
		{"nats://a:" + secret + "@" + secret + "@127.0.0.1:1", "nats://***@127.0.0.1:1"},
		{"nats://127.0.0.1:1", "nats://127.0.0.1:1"},
	} {
		for _, raw := range []bool{true, false} {
			url := c.url
			if !raw { // what the NATS client can read
				url = strings.ReplaceAll(url, "%", "")
			}
			client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: url})
			if err == nil {
				client.Close()
				t.Fatalf("%s: connected", url)
			}
			errs := connectFault(err, url).Error()
			if strings.Contains(errs, "eim") {
				t.Errorf("%s: %s", url, errs)
			}
			contains(t, url, errs, "--nats "+c.shown)
		}
	}
}
