package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/gateway/loglimit"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// Peers and publishers cause no more than a few lines of one kind a minute: one that cannot be stored wrote 39,800 lines
// in 45 s.
func TestFloodsFillNoLog(t *testing.T) {
	t.Parallel()
	const flood = 300
	s := startSMSC(t, testserver.Scenario{})
	var log syncLog
	r := runGateway(t, testConfig(t, t.TempDir(), s, "", ""), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r.awaitStatus(t, 200, "bound")
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	for i := range flood { // what no gateway has written, and what no publisher should
		if _, err := js.Publish(t.Context(), "sms.in.acme", []byte("no record")); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "sms.mt.main.normal", fmt.Appendf(nil, `{"v":1,"id":"bad-%d","tex":"typo"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	r.await(t, flood, func(e queue.Event) bool { return e.Type.Final() && strings.HasPrefix(e.ID, "bad-") })
	await(t, "the records to be read", func() bool {
		c, err := js.Consumer(t.Context(), "SMS_IN", "in_acme")
		return err == nil && c.CachedInfo().NumPending+uint64(c.CachedInfo().NumAckPending) == 0
	})
	in, err := js.Stream(t.Context(), "SMS_IN")
	if err != nil {
		t.Fatal(err)
	}
	full := in.CachedInfo().Config
	full.Discard, full.MaxMsgs = jetstream.DiscardNew, flood
	if _, err := js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	for i := range flood {
		body := pdu.DeliverSM{Source: pdu.Address{Addr: fmt.Append(nil, 1000+i)}, ShortMessage: []byte("in vain")}
		if err := s.Deliver("sluice", body); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the refusals", func() bool { return r.sum(t, "sluice_inbound_refused_total") >= flood })
	r.stop()

	kinds, told := map[string]int{}, 0
	for line := range strings.Lines(log.String()) {
		_, rest, _ := strings.Cut(line, "msg=")
		kind, _, _ := strings.Cut(strings.Trim(rest, `"`), `"`)
		kinds[kind]++
		if strings.Contains(line, loglimit.SuppressedKey+"=") {
			told++
		}
	}
	for kind, n := range kinds {
		if n > 3*(loglimit.Burst+1) { // the flood may last over an interval's end
			t.Errorf("%d lines %q", n, kind)
		}
	}
	if told < 2 || kinds["there is no room for messages from the SMSC, it was asked to keep them"] == 0 {
		t.Errorf("%d lines say how many were left out, want one for each flood; lines: %v", told, kinds)
	}
}

// sum adds up a metric of the gateway over the series that have all the given label values.
func (r *rig) sum(t *testing.T, name string, labels ...string) (sum float64) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(values, l) }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

type syncLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
