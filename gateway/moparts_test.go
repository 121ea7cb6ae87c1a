package gateway

import (
	"testing"
	"time"

	"sluice/smpp/pdu"
)

func part(reference, total, n byte, text string) *pdu.DeliverSM {
	return &pdu.DeliverSM{
		Source: pdu.Address{Addr: []byte("1555")}, Dest: pdu.Address{Addr: []byte("2000")}, ESMClass: pdu.ESMClassUDHI,
		ShortMessage: append([]byte{5, 0, 3, reference, total, n}, text...),
	}
}

func add(j *joiner, now, came float64, m *pdu.DeliverSM) (joinVerdict, [][]byte) {
	key, n, ok := partOf(m, m.ShortMessage)
	if !ok {
		return joinAlone, nil
	}
	return j.add(at(now), at(came), key, n, m.ShortMessage)
}

func TestPartsJoinInAnyOrderAndOnce(t *testing.T) {
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
			var text string
			for _, p := range parts {
				text += string(p[6:])
			}
			if text != "abc" {
				t.Errorf("joined as %q, want abc", text)
			}
		}
	}
	key, _, _ := partOf(part(7, 3, 1, ""), part(7, 3, 1, "").ShortMessage)
	j.published(at(2), key)
	if verdict, _ := add(&j, 3, 0, part(7, 3, 3, "c")); verdict != joinKnown {
		t.Errorf("a part that comes again: verdict %d, want known", verdict)
	}
	if verdict, _ := add(&j, 100, 100, part(7, 3, 1, "new")); verdict != joinWait {
		t.Errorf("the same reference used anew: verdict %d, want wait", verdict)
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
}

func TestJoiningIsBounded(t *testing.T) {
	var j joiner
	for i := range mostJoining {
		key := joinKey{from: time.Duration(i).String(), total: 2}
		if verdict, _ := j.add(at(0), at(0), key, 1, nil); verdict != joinWait {
			t.Fatalf("message %d: verdict %d, want wait", i, verdict)
		}
	}
	if verdict, _ := j.add(at(1), at(1), joinKey{from: "one more", total: 2}, 1, nil); verdict != joinAlone {
		t.Errorf("beyond %d messages: verdict %d, want alone", mostJoining, verdict)
	}
	if verdict, _ := j.add(at(1000), at(1000), joinKey{from: "later", total: 2}, 1, nil); verdict != joinWait {
		t.Errorf("when the old ones have timed out: verdict %d, want wait", verdict)
	}
}

func TestSARPartsAreParts(t *testing.T) {
	m := &pdu.DeliverSM{TLVs: pdu.TLVs{
		pdu.Uint16TLV(pdu.TagSarMsgRefNum, 300), pdu.Uint8TLV(pdu.TagSarTotalSegments, 2), pdu.Uint8TLV(pdu.TagSarSegmentSeqnum, 2),
	}}
	key, n, ok := partOf(m, nil)
	if !ok || key.reference != 300 || key.total != 2 || n != 2 {
		t.Errorf("%+v, part %d, %v; want reference 300, part 2 of 2", key, n, ok)
	}
	m.TLVs[2] = pdu.Uint8TLV(pdu.TagSarSegmentSeqnum, 3)
	if _, _, ok := partOf(m, nil); ok {
		t.Error("part 3 of 2 counts as a part")
	}
}
