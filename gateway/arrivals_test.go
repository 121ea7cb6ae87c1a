package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
)

func TestOctetsOfAPDU(t *testing.T) {
	encode := func(sequence uint32, text string) string {
		raw, err := pdu.Append(nil, pdu.StatusOK, sequence, receiptFrom("15550100", text))
		if err != nil {
			t.Fatal(err)
		}
		return octetsOf(raw)
	}
	if encode(1, "id:77") != encode(2, "id:77") || encode(1, "id:77") == encode(1, "id:78") {
		t.Error("the sequence number counts, or the text does not")
	}
}

// The rule of repeats, step by step.
func TestArrivalsThatMayBeRepeated(t *testing.T) {
	type step struct {
		at      float64 // s
		octets  string
		session string
		late    bool
		unsure  bool
		repeats bool
	}
	for name, c := range map[string]struct {
		ends  map[string]float64 // of sessions
		steps []step
	}{
		"said twice":                            {nil, []step{{0, "yes", "a", false, false, false}, {1, "yes", "a", false, false, false}, {2, "yes", "b", false, false, false}}},
		"the session ended soon":                {map[string]float64{"a": 59}, []step{{0, "yes", "a", false, false, false}, {60, "yes", "b", false, false, true}}},
		"each explains one repeat":              {map[string]float64{"a": 5}, []step{{0, "yes", "a", false, false, false}, {1, "yes", "a", false, false, false}, {6, "yes", "b", false, false, true}, {7, "yes", "b", false, false, true}, {8, "yes", "b", false, false, false}}},
		"a repeat's answer may be lost too":     {map[string]float64{"a": 5, "b": 10}, []step{{0, "yes", "a", false, false, false}, {6, "yes", "b", false, false, true}, {11, "yes", "c", false, false, true}}},
		"the session ended later":               {map[string]float64{"a": 61}, []step{{0, "yes", "a", false, false, false}, {62, "yes", "b", false, false, false}}},
		"another text":                          {map[string]float64{"a": 5}, []step{{0, "yes", "a", false, false, false}, {6, "no", "b", false, false, false}}},
		"the answer was late":                   {nil, []step{{0, "yes", "a", true, false, false}, {120, "yes", "a", false, false, true}}},
		"refused, as it seemed":                 {nil, []step{{0, "yes", "a", false, true, false}, {120, "yes", "a", false, false, true}}},
		"long after the session ended":          {map[string]float64{"a": 5}, []step{{0, "yes", "a", false, false, false}, {599, "x", "b", false, false, false}, {601, "yes", "b", false, false, false}}},
		"within ten minutes of a session's end": {map[string]float64{"a": 5}, []step{{0, "yes", "a", false, false, false}, {590, "yes", "b", false, false, true}}},
	} {
		var a arrivals
		lives := map[string]*sessionLife{}
		for _, s := range []string{"a", "b", "c"} {
			lives[s] = &sessionLife{id: s}
		}
		for i, step := range c.steps {
			for s, end := range c.ends {
				if end <= step.at {
					a.end(at(end), lives[s])
				}
			}
			earlier, _ := a.repeated(at(step.at), step.octets)
			if (earlier != nil) != step.repeats {
				t.Errorf("%s, step %d: repeats %t, want %t", name, i+1, earlier != nil, step.repeats)
			}
			a.took(at(step.at), &arrival{octets: step.octets, at: at(step.at), from: lives[step.session], late: step.late, unsure: step.unsure})
		}
	}
}

// What is remembered is bounded, by time and by number.
func TestArrivalsAreForgotten(t *testing.T) {
	var a arrivals
	life := new(sessionLife)
	for n := range 1000 {
		a.took(at(float64(n)), &arrival{octets: fmt.Sprint(n), at: at(float64(n)), from: life})
	}
	if len(a.fresh) != 60 || len(a.byOctets) != 60 || len(a.doubtful) != 0 {
		t.Errorf("%d, %d and %d are remembered; want those of 60 s", len(a.fresh), len(a.byOctets), len(a.doubtful))
	}
	for n := range mostArrivals + 10 {
		a.took(at(2000), &arrival{octets: fmt.Sprint(n), at: at(2000), from: life})
	}
	if len(a.fresh) != mostArrivals || len(a.byOctets) != mostArrivals {
		t.Errorf("%d and %d are remembered, want %d", len(a.fresh), len(a.byOctets), mostArrivals)
	}
	for range 1000 {
		a.took(at(3000), &arrival{octets: "flood", at: at(3000), from: life})
	}
	if n := len(a.byOctets["flood"]); n != mostAlike || len(a.byOctets) != 1 {
		t.Errorf("%d of one kind are remembered among %d, want %d among 1", n, len(a.byOctets), mostAlike)
	}
}

// hangUp closes the newest session from the SMSC's side and waits for the next one.
func (s *scriptedSMSC) hangUp(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	n := len(s.conns)
	_ = s.conns[n-1].Close()
	s.mu.Unlock()
	s.bound(t, n+1)
}

// says sends a message from a phone, the same octets each time, and waits until it is published or known.
func (r *receiptsRig) says(t *testing.T, text string) {
	t.Helper()
	m := receiptFrom("15550100", text)
	m.ESMClass = 0
	r.deliver(t, m)
	r.ackedOK(t, 1)
	r.inboundEmpty(t)
}

// G24: a text that comes again is a second one, unless our answer to the first may not have been seen.
func TestG24RepeatedSinglePartMO(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	r := startMO(t, s, t.TempDir(), "")
	s.bound(t, 1)
	published := func(what string, want uint64) {
		t.Helper()
		if n := r.streamMessages(t, "SMS_MO"); n != want {
			t.Errorf("%s: %d published, want %d", what, n, want)
		}
	}
	r.says(t, "YES")
	r.says(t, "YES")
	published("said twice", 2)
	r.says(t, "NO")
	published("another text", 3)
	s.hangUp(t)
	r.says(t, "NO")
	published("sent again after the session ended", 3)
	r.says(t, "NO")
	published("and said once more", 4)
	r.awaitMetrics(t, `sluice_inbound_total{account="acme",kind="repeated"} 1`)
}

// G24, siblings: the SMSC sends again to the next process, or to another instance.
func TestG24RepeatedAcrossProcesses(t *testing.T) {
	t.Parallel()
	s, dir := startScripted(t, silentSMSC), t.TempDir()
	first := startMO(t, s, dir, "")
	s.bound(t, 1)
	first.says(t, "YES")
	first.stop()
	first = startMO(t, s, dir, "")
	s.bound(t, 2)
	first.says(t, "YES")
	if n := first.streamMessages(t, "SMS_MO"); n != 1 {
		t.Errorf("sent again after a restart: %d published, want 1", n)
	}
	first.says(t, "NO")
	second := startMO(t, s, t.TempDir(), first.NATSURL())
	s.bound(t, 3)
	second.says(t, "NO")
	if n := first.streamMessages(t, "SMS_MO"); n != 3 {
		t.Errorf("said at another instance while the session lives: %d published, want 3", n)
	}
	first.says(t, "LATER") // which the second instance's session takes
	second.stop()
	s.mu.Lock()
	s.conns = append(s.conns, s.conns[1])
	s.mu.Unlock()
	first.says(t, "LATER")
	if n := first.streamMessages(t, "SMS_MO"); n != 4 {
		t.Errorf("sent again to the instance that is left: %d published, want 4", n)
	}
}

// G24, with a NATS server that outlives the gateway, and what was dealt with purged.
func TestG24RepeatedAfterThePurge(t *testing.T) {
	t.Parallel()
	nats, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nats.Shutdown() })
	s := startScripted(t, silentSMSC)
	first := startMO(t, s, t.TempDir(), nats.URL())
	s.bound(t, 1)
	first.says(t, "YES")
	js, err := jetstream.New(first.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "SMS_IN")
	if err == nil {
		err = stream.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	first.stop()
	second := startMO(t, s, t.TempDir(), nats.URL())
	s.bound(t, 2)
	second.says(t, "YES")
	if n := second.streamMessages(t, "SMS_MO"); n != 1 {
		t.Errorf("%d published, want 1", n)
	}
}

// G04 and G06: a receipt that the SMSC sends again counts for no second segment.
func TestG04ReceiptSentAgainAfterTheSession(t *testing.T) {
	t.Parallel()
	r := startParts(t, "", 2)
	const text = "id:p3 stat:DELIVRD err:000"
	r.deliverText(t, "15550100", text)
	r.inboundEmpty(t)
	r.hangUp(t)
	r.deliverText(t, "15550100", text) // again
	r.inboundEmpty(t)
	if list := r.receiptsNow(t, "long"); len(list) != 1 || list[0].Receipt.MessageFinal {
		t.Errorf("%d events after the repeat, want 1, not final", len(list))
	}
	r.deliverText(t, "15550100", text) // of the second segment
	if list := r.receiptsNow(t, "long"); len(list) != 2 || !list[1].Receipt.MessageFinal {
		t.Errorf("%d events, want 2, the second final", len(list))
	}
	r.awaitMetrics(t, `sluice_receipts_total{account="acme",match="repeated"} 1`)
}

// A receipt's event names the bind that it came over.
func TestReceiptNamesItsBind(t *testing.T) {
	t.Parallel()
	for bind, sessions := range map[config.BindMode]int{config.Transceiver: 2, config.TransmitterReceiver: 4} {
		t.Run(string(bind), func(t *testing.T) {
			t.Parallel()
			s := startScripted(t, silentSMSC)
			cfg := testConfig(t, t.TempDir(), smsc{addr: s.addr}, "binds: 2\nbind: "+string(bind), "")
			r := &receiptsRig{rig: runGateway(t, cfg, Options{receiptWaits: []time.Duration{time.Millisecond}}), scriptedSMSC: s}
			s.bound(t, sessions)
			raw, err := pdu.Append(nil, pdu.StatusOK, 9, receiptFrom("15550100", "id:77 stat:DELIVRD err:000"))
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for i := range sessions {
				s.mu.Lock()
				_, err := s.conns[i].Write(raw)
				s.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				if r.acked(t, 1)[0].Status == pdu.StatusOK { // a transmitter takes none
					taken++
				}
			}
			binds := map[string]bool{}
			for _, e := range r.receipts(t, taken, func(queue.Event) bool { return true }) {
				binds[e.Bind] = true
			}
			if len(binds) != 2 || !binds["acme/1"] || !binds["acme/2"] || taken != 2 {
				t.Errorf("%d receipts over %v; want one over acme/1 and one over acme/2", taken, binds)
			}
		})
	}
}

// An answer that cannot be told from a failure: the record is stored all the same, and its repeat is known.
func TestStoredAndRefusedIsKnownWhenItComesAgain(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	r := startMO(t, s, t.TempDir(), "")
	s.bound(t, 1)
	r.says(t, "YES")
	a := r.accounts[0]
	a.arrivals.mu.Lock()
	for _, p := range a.arrivals.fresh {
		p.unsure = true // as if the confirmation had been lost
	}
	a.arrivals.mu.Unlock()
	r.says(t, "YES")
	if n := r.streamMessages(t, "SMS_MO"); n != 1 {
		t.Errorf("%d published, want 1", n)
	}
}
