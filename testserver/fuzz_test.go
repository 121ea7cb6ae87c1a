package testserver

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// FuzzConnection sends arbitrary octets behind a bind, cut anywhere, to a server with every feature on: it must not
// panic, and must end when the client has gone.
func FuzzConnection(f *testing.F) {
	add := func(bodies ...pdu.Body) {
		var octets []byte
		for i, body := range bodies {
			octets, _ = pdu.Append(octets, 0, uint32(i+2), body)
		}
		f.Add(octets, uint16(len(octets)/2))
	}
	add(message("1", "hello"), &pdu.EnquireLink{}, &pdu.Unbind{})
	add(asking("9", 1), asking("8", 3), message("7", "x"), &pdu.DeliverSMResp{}, &pdu.UnbindResp{})
	add(&pdu.Bind{SystemID: "sluice"}, &pdu.SubmitMulti{}, &pdu.DataSM{}, &pdu.GenericNack{})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint16(3))
	f.Add([]byte{0, 0, 0, 0}, uint16(1))
	sc := Scenario{
		Latency: Between(0, time.Second), AnyOrder: true,
		Limits: []Limit{
			{Kind: TokenBucket, Rate: PerSecond(1)},
			{Kind: DestinationQueue, Rate: PerSecond(1), Size: 1},
			{Kind: Quota, Count: 2, Period: time.Hour, Over: BeSilent},
			{Kind: SessionQuota, Count: 3, Over: CloseSession},
		},
		Errors: []ErrorRule{{Match: Match{Suffix: "9"}, Status: pdu.StatusSysErr}},
		Faults: []Fault{
			{Match: Match{Every: 2}, Kind: FaultDuplicate},
			{Match: Match{Every: 3}, Kind: FaultReorder},
			{Match: Match{Every: 5}, Kind: FaultDrip},
			{Match: Match{Every: 7}, Kind: FaultGarbage},
		},
		Receipts: Receipts{Always: true, Redeliver: time.Second},
		Link:     Link{Interval: time.Minute},
		Ledger:   LedgerConfig{PDUs: true},
	}
	f.Fuzz(func(t *testing.T, octets []byte, cut uint16) {
		synctest.Test(t, func(t *testing.T) {
			s := New(sc)
			near, far := net.Pipe()
			ended := make(chan struct{})
			go func() {
				_ = s.ServeConn(t.Context(), far)
				close(ended)
			}()
			go func() { _, _ = io.Copy(io.Discard, near) }()
			bind, _ := pdu.Append(nil, 0, 1, &pdu.Bind{SystemID: "sluice"})
			at := min(int(cut), len(octets))
			for _, part := range [][]byte{bind, octets[:at], octets[at:]} {
				if _, err := near.Write(part); err != nil {
					break // it was ended for what it sent
				}
				time.Sleep(time.Second)
			}
			_ = near.Close()
			<-ended
			if stats := s.Stats(); stats.Submits != stats.Accepted+stats.Throttled+stats.Refused || stats.Bound != 0 {
				t.Errorf("stats are %+v", stats)
			}
		})
	})
}

// FuzzDecode reads arbitrary text as a scenario: it must not panic, and what it takes must be servable.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("limits: [{kind: token_bucket, rate: 100, burst: 10}]\nlatency: 5ms-20ms\n"))
	f.Add([]byte("faults: [{kind: disconnect, every: 500, how: rst}]"))
	f.Add([]byte("limits: [{kind: queue, size: 3, rate: [{at: 0s, rate: 3}, {at: 1h, rate: 4}]}]"))
	f.Add([]byte(`{"receipts": {"state": "UNDELIV", "rules": [{"share": "1%", "never": true}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sc, err := Decode(text)
		if err != nil {
			return
		}
		if s := New(sc); s.invalid != nil {
			t.Errorf("accepted, then refused: %v", s.invalid)
		}
	})
}
