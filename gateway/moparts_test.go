package gateway

import (
	"strings"
	"testing"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

func part(reference, total, n byte, text string) *pdu.DeliverSM {
	return &pdu.DeliverSM{
		Source: pdu.Address{Addr: []byte("1555")}, Dest: pdu.Address{Addr: []byte("2000")}, ESMClass: pdu.ESMClassUDHI,
		ShortMessage: append([]byte{5, 0, 3, reference, total, n}, text...),
	}
}

// add adds a part that was not published before.
func add(j *joiner, now, came float64, m *pdu.DeliverSM) (joinVerdict, []text.Part) {
	return addBehind(j, now, came, m, queue.JoinedMO{})
}

func addBehind(j *joiner, now, came float64, m *pdu.DeliverSM, before queue.JoinedMO) (joinVerdict, []text.Part) {
	key, n, ok := partOf(m, m.ShortMessage)
	if !ok {
		panic("no part of a message")
	}
	return j.add(at(now), at(came), key, n, text.Part{UDHI: true, Data: m.ShortMessage}, before)
}

// published is what is known once the given parts went out.
func published(alone bool, parts ...*pdu.DeliverSM) queue.JoinedMO {
	j := queue.JoinedMO{Sums: map[byte]uint64{}, Alone: alone, At: at(10)}
	for _, m := range parts {
		j.Sums[m.ShortMessage[5]] = sumOf(m.ShortMessage)
	}
	return j
}

func TestPartsJoinInAnyOrder(t *testing.T) {
	var j joiner
	for _, c := range []struct {
		name string
		m    *pdu.DeliverSM
		want joinVerdict
	}{
		{"third", part(7, 3, 3, "c"), joinWait},
		{"first", part(7, 3, 1, "a"), joinWait},
		{"first again", part(7, 3, 1, "a"), joinWait},
		{"other reference", part(8, 3, 2, "x"), joinWait},
		{"other total", part(7, 2, 2, "x"), joinWait},
		{"second", part(7, 3, 2, "b"), joinWhole},
	} {
		verdict, parts := add(&j, 1, 0, c.m)
		if verdict != c.want {
			t.Fatalf("%s: verdict %d, want %d", c.name, verdict, c.want)
		}
		if verdict == joinWhole {
			var whole string
			for _, p := range parts {
				whole += string(p.Data[6:])
			}
			if whole != "abc" {
				t.Errorf("joined as %q, want abc", whole)
			}
		}
	}
}

func TestPartsThatWerePublishedAreKnown(t *testing.T) {
	one, two := part(7, 2, 1, "a"), part(7, 2, 2, "b")
	for _, c := range []struct {
		name   string
		before queue.JoinedMO
		came   float64
		m      *pdu.DeliverSM
		want   joinVerdict
	}{
		{"again", published(false, one, two), 20, one, joinKnown},
		{"again, an hour later, should that be remembered", published(false, one, two), 3600, one, joinKnown},
		{"the reference used anew", published(false, one, two), 20, part(7, 2, 1, "new"), joinWait},
		{"one went out alone, the other comes", published(true, one), 20, two, joinAlone},
		{"one went out alone, and comes again", published(true, one), 20, one, joinKnown},
		{"one went out alone long before", published(true, one), 11 + partsPatience.Seconds(), two, joinWait},
	} {
		var j joiner
		if verdict, _ := addBehind(&j, c.came, c.came, c.m, c.before); verdict != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, verdict, c.want)
		}
	}
}

// What another instance has published is not joined with what comes later under the same reference, and neither is a
// part that never got its fellows.
func TestOldPartsDoNotMixWithNewOnes(t *testing.T) {
	one, two := part(7, 2, 1, "a"), part(7, 2, 2, "b")
	var j joiner
	add(&j, 0, 0, one)
	if verdict, _ := addBehind(&j, 20, 20, part(7, 2, 2, "new"), published(false, one, two)); verdict != joinWait {
		t.Errorf("a new second part was joined with an old first one: verdict %d", verdict)
	}
	j = joiner{}
	add(&j, 0, 0, one)
	late := partsPatience.Seconds() + 1
	if verdict, _ := add(&j, late, late, part(7, 2, 2, "new")); verdict != joinWait {
		t.Errorf("a part %v younger was joined: verdict %d", partsPatience, verdict)
	}
}

func TestTwoMessagesUnderOneReferenceAreNotMixed(t *testing.T) {
	var j joiner
	add(&j, 0, 0, part(7, 2, 1, "a"))
	if verdict, _ := add(&j, 1, 1, part(7, 2, 1, "A")); verdict != joinAlone {
		t.Errorf("another first part: verdict %d, want alone", verdict)
	}
}

func TestPartsThatNeverCompleteGoOutAlone(t *testing.T) {
	var j joiner
	if verdict, _ := add(&j, 0, 0, part(7, 2, 1, "a")); verdict != joinWait {
		t.Fatalf("first part: verdict %d, want wait", verdict)
	}
	late := partsPatience.Seconds() + 1
	if verdict, _ := add(&j, late, 0, part(7, 2, 1, "a")); verdict != joinAlone {
		t.Errorf("after %v: verdict %d, want alone", partsPatience, verdict)
	}
	// After a restart an old part first waits for the others to be looked at too.
	j = joiner{}
	if verdict, _ := add(&j, 1e4, 0, part(7, 2, 1, "a")); verdict != joinWait {
		t.Errorf("an old part after a restart: verdict %d, want wait", verdict)
	}
	if verdict, _ := add(&j, 1e4+1, 2, part(7, 2, 2, "b")); verdict != joinWhole {
		t.Errorf("its fellow: verdict %d, want whole", verdict)
	}
}

func TestJoiningIsBounded(t *testing.T) {
	var j joiner
	for i := range mostJoining {
		key := joinKey{from: time.Duration(i).String(), total: 2}
		if verdict, _ := j.add(at(0), at(0), key, 1, text.Part{}, queue.JoinedMO{}); verdict != joinWait {
			t.Fatalf("message %d: verdict %d, want wait", i, verdict)
		}
	}
	if verdict, _ := add(&j, 1, 1, part(7, 2, 1, "a")); verdict != joinAlone {
		t.Errorf("one too many: verdict %d, want alone", verdict)
	}
	late := partsPatience.Seconds() + 1
	if verdict, _ := add(&j, late, late, part(7, 2, 1, "a")); verdict != joinWait {
		t.Errorf("once the others have waited long enough: verdict %d, want wait", verdict)
	}
}

// startMO is a gateway whose SMSC only delivers.
func startMO(t *testing.T, s *scriptedSMSC, dir, nats string) *receiptsRig {
	t.Helper()
	cfg := testConfig(t, dir, smsc{addr: s.addr}, "", "")
	if nats != "" {
		cfg.Instance, cfg.NATS = "test-2", config.NATS{URL: nats}
	}
	return &receiptsRig{rig: runGateway(t, cfg, Options{}), scriptedSMSC: s}
}

// bound waits until n sessions have been bound since the start.
func (s *scriptedSMSC) bound(t *testing.T, n int) {
	t.Helper()
	await(t, "the binds", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) >= n
	})
}

// The parts of one message come to two instances, some of them twice, and the message is published once.
func TestMOPartsJoinAcrossInstancesAndOnce(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	first := startMO(t, s, t.TempDir(), "")
	s.bound(t, 1)
	startMO(t, s, t.TempDir(), first.NATSURL())
	s.bound(t, 2)
	var want []string
	for n := range 6 {
		text := strings.Repeat(string(rune('a'+n)), 3)
		want = append(want, text)
		for _, p := range []byte{3, 1, 2, 1, 3} {
			s.deliver(t, part(byte(n), 3, p, text[:1]))
			s.acked(t, 1)
		}
	}
	s.deliver(t, &pdu.DeliverSM{Source: pdu.Address{Addr: []byte("1555")}, Dest: pdu.Address{Addr: []byte("2000")}, ShortMessage: []byte("short")})
	s.acked(t, 1)
	want = append(want, "short")
	got := map[string]int{}
	for _, mo := range first.mos(t, len(want)) {
		got[mo.Text]++
		if mo.Missing != 0 {
			t.Errorf("%q lacks %d parts", mo.Text, mo.Missing)
		}
	}
	for _, text := range want {
		if got[text] != 1 {
			t.Errorf("%q was published %d times, want once: %v", text, got[text], got)
		}
	}
	first.inboundEmpty(t)
	if n := first.streamMessages(t, "SMS_MO"); n != uint64(len(want)) {
		t.Errorf("%d messages published, want %d", n, len(want))
	}
}

// A gateway that stops with parts in hand leaves them stored: the next one joins them with what comes then.
func TestMOPartsJoinAcrossARestart(t *testing.T) {
	t.Parallel()
	s, dir := startScripted(t, silentSMSC), t.TempDir()
	r := startMO(t, s, dir, "")
	s.bound(t, 1)
	s.deliver(t, part(7, 2, 2, "world"))
	s.acked(t, 1)
	r.inboundHandled(t, 1)
	r.stop()
	r = startMO(t, s, dir, "")
	s.bound(t, 2)
	s.deliver(t, part(7, 2, 1, "hello "))
	s.acked(t, 1)
	if mo := r.mos(t, 1)[0]; mo.Text != "hello world" || mo.Segments != 2 || mo.Missing != 0 {
		t.Errorf("published %+v, want hello world of 2 segments", mo)
	}
	// Parts that the SMSC sends again afterwards are known.
	r.inboundEmpty(t)
	s.deliver(t, part(7, 2, 2, "world"))
	s.deliver(t, part(7, 2, 1, "hello "))
	s.acked(t, 2)
	r.inboundEmpty(t)
	if n := r.streamMessages(t, "SMS_MO"); n != 1 {
		t.Errorf("%d messages published, want 1", n)
	}
}
