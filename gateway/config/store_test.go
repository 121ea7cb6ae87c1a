package config

import (
	"strings"
	"testing"
)

func TestLimitsAreSharesOfTheStore(t *testing.T) {
	c := mustLoad(t, oneAccount+"nats: {embedded: {max_store: 400MiB}}")
	const mb = 1 << 20
	if got, want := c.Limits(), (Limits{400 * mb, 100 * mb, 160 * mb, 40 * mb, 20 * mb, 40 * mb, 40 * mb}); got != want || got.Sum() != got.Store {
		t.Errorf("limits %v, want %v", got, want)
	}
	c = mustLoad(t, oneAccount+"nats: {embedded: {max_store: 400MiB}}\nstreams: {max_bytes: 200MiB, journal_bytes: 20MiB}")
	if got, want := c.Limits(), (Limits{400 * mb, 200 * mb, 20 * mb, 40 * mb, 20 * mb, 40 * mb, 40 * mb}); got != want {
		t.Errorf("limits %v, want what is set, and shares", got)
	}
	c = mustLoad(t, oneAccount+"nats: {embedded: {max_store: 400MiB}}\nstreams: {max_bytes: 325MiB}")
	if got := c.Limits(); got.Queue != 325*mb || got.Journal != 40*mb || got.Sum() > got.Store {
		t.Errorf("limits %v: want the others to have shares of the 75 MB that are left", got)
	}
	c = mustLoad(t, oneAccount+"nats: {url: 'nats://h:4222'}")
	if got := c.Limits(); got.Store != 0 || got.Queue != 1<<30 || got.Journal != 4<<30 || got.Inbound != (4<<30)/100*10 {
		t.Errorf("limits of an external server: %v", got)
	}
	c = mustLoad(t, oneAccount)
	if got := c.Limits(); got.Store <= 0 || got.Store > 10<<30 || got.Sum() > got.Store {
		t.Errorf("limits by default: %v, want shares of at most 10GiB", got)
	}
}

func TestLimitsBeyondTheStoreAreRefused(t *testing.T) {
	for _, tc := range []struct{ yaml, want string }{
		{"nats: {embedded: {max_store: 400MiB}}\nstreams: {max_bytes: 300MiB, journal_bytes: 100MiB}", "are 400MiB, and with 35MiB for the other streams more than the store may take, 400MiB"},
		{"streams: {journal_bytes: 1000TiB}", "set nats.embedded.max_store"},
		{"nats: {embedded: {max_store: 1MiB}}", "use 64MiB or more"},
		{"streams: {journal_bytes: 1kB}", "use 1MiB or more"},
	} {
		if got := strings.Join(faults(t, oneAccount+tc.yaml), "\n"); !strings.Contains(got, tc.want) {
			t.Errorf("%s: faults %q, want %q in them", tc.yaml, got, tc.want)
		}
	}
	c := mustLoad(t, oneAccount+"nats: {embedded: {max_store: 900TiB}}")
	if got := strings.Join(c.Warnings(), "\n"); !strings.Contains(got, "more than 80% of the free disk") {
		t.Errorf("warnings %q, want one of a store that the disk has no room for", got)
	}
}

// 72 hours at 1,000/s are 72 minutes with the 4 GiB of an external server: check says so.
func TestSizesAtTheDeclaredRate(t *testing.T) {
	c := mustLoad(t, `
nats: {url: "nats://h:4222"}
accounts: {acme: {address: "h:1", system_id: s, password: x, rate: {declared: 1000}}}
`)
	all := strings.Join(c.Sizes(), "\n")
	for _, want := range []string{"of 1000/s the journal keeps events for about 72 minutes", "journal_age 72h needs journal_bytes of about 241 GiB"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
}

const oneAccount = `
accounts: {acme: {address: "h:1", system_id: s, password: x}}
`
