package queue

import (
	"encoding/json"
	"testing"
	"time"
)

func FuzzEventJSON(f *testing.F) {
	f.Add("id-1", "acme", "note <&> \u2028 \xff", uint64(7), int64(3), uint8(0xff))
	f.Add("", "", "", uint64(0), int64(0), uint8(0))
	f.Fuzz(func(t *testing.T, id, account, detail string, seq uint64, n int64, bits uint8) {
		status := uint32(seq)
		e := Event{
			V: 1, Seq: seq, ID: id, EventID: detail, Type: EventType(account), At: time.Unix(n%1e9, n%1e9).UTC(), Delivery: int(n), Account: account,
			Detail: detail, DelayMillis: n,
		}
		if bits&1 != 0 {
			e.CommandStatus, e.StatusName = &status, id
		}
		if bits&2 != 0 {
			e.MessageIDs = []string{id, detail}
		}
		if bits&4 != 0 {
			e.Meta = map[string]string{id: detail, detail: account, "b": "c"}
		}
		if bits&8 != 0 {
			e.State = &State{Attempts: int(n), Account: account}
		}
		if bits&16 != 0 {
			e.Answers = []PartAnswer{{Part: 1, CommandStatus: &status}}
		}
		if bits&32 != 0 {
			e.Receipt = &Receipt{MessageID: id, State: detail}
		}
		e.PossibleDuplicate = bits&64 != 0
		if bits&128 != 0 {
			e.NextAttemptAt, e.Deadline = e.At, e.At
		}
		want, err := json.Marshal(&e)
		if err != nil {
			t.Skip()
		}
		got, err := e.AppendJSON(nil)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%v\n got %s\nwant %s", err, got, want)
		}
	})
}
