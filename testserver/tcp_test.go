package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/smpp/pdu"
)

// dial connects over TCP and reads and writes whole PDUs.
func dial(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// encodeAll numbers the requests from 1.
func encodeAll(t *testing.T, bodies ...pdu.Body) (octets []byte) {
	t.Helper()
	for i, body := range bodies {
		var err error
		if octets, err = pdu.Append(octets, 0, uint32(i+1), body); err != nil {
			t.Fatal(err)
		}
	}
	return octets
}

// receive reads the next PDU's header.
func receive(in *bufio.Reader) (pdu.Header, error) {
	octets, err := in.Peek(pdu.HeaderLen)
	if err != nil {
		return pdu.Header{}, err
	}
	head, err := pdu.ParseHeader(octets)
	if err != nil {
		return head, err
	}
	_, err = in.Discard(int(head.Length))
	return head, err
}

func TestDisconnectOverTCP(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, how := range []How{FIN, RST} {
		t.Run(string(how), func(t *testing.T) {
			s := New(Scenario{Faults: []Fault{{Kind: FaultDisconnect, How: how}}})
			conn, in := dial(t, listen(t, s))
			requests := []pdu.Body{&pdu.Bind{SystemID: "sluice"}}
			for range 500 { // the server reads one and leaves the others
				requests = append(requests, message("1", "x"))
			}
			if _, err := conn.Write(encodeAll(t, requests...)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // bind_transceiver_resp and submit_sm_resp
				if _, err := receive(in); err != nil {
					t.Fatal(err)
				}
			}
			_, err := in.ReadByte()
			if want := map[How]error{FIN: io.EOF, RST: syscall.ECONNRESET}[how]; !errors.Is(err, want) {
				t.Errorf("the connection ended with %v, want %v", err, want)
			}
			if got := s.Stats().Submits; got != 1 {
				t.Errorf("%d submits were read, want 1", got)
			}
		})
	}
}

func TestPlaceIsFreeOnceTheClientSeesTheEnd(t *testing.T) {
	for name, how := range map[string]How{"fin": FIN, "rst": RST, "unbind": Unbind} {
		t.Run(name, func(t *testing.T) {
			s := New(Scenario{Bind: BindRules{Max: 1}})
			address := listen(t, s)
			for i := range 20 {
				conn, in := dial(t, address)
				if _, err := conn.Write(encodeAll(t, &pdu.Bind{SystemID: "sluice"})); err != nil {
					t.Fatal(err)
				}
				if head, err := receive(in); err != nil || head.Status != pdu.StatusOK {
					t.Fatalf("bind %d: %v %v", i, head.Status, err)
				}
				if how == Unbind {
					if _, err := conn.Write(encodeAll(t, &pdu.Unbind{})); err != nil {
						t.Fatal(err)
					}
					if head, err := receive(in); err != nil || head.ID != pdu.IDUnbindResp {
						t.Fatalf("unbind %d: %v %v", i, head.ID, err)
					}
					continue
				}
				s.Disconnect(0, how)
				if _, err := in.ReadByte(); err == nil {
					t.Fatal("the connection is still open")
				}
			}
		})
	}
}

// TestConcurrentUse has clients come and go while everything is asked and changed; it is for the race detector.
func TestConcurrentUse(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := New(Scenario{
		Limits:   []Limit{{Kind: TokenBucket, Rate: PerSecond(5000)}, {Kind: Outstanding, Size: 50, Scope: PerBind}},
		Latency:  Between(0, 2*time.Millisecond),
		Faults:   []Fault{{Match: Match{Every: 50}, Kind: FaultReorder}, {Match: Match{Every: 333}, Kind: FaultDisconnect}},
		Receipts: Receipts{Always: true, Redeliver: time.Millisecond},
		Ledger:   LedgerConfig{Records: 100, Keys: 100},
	})
	t.Run("traffic", func(t *testing.T) {
		address := listen(t, s)
		var clients sync.WaitGroup
		for i := range 4 {
			clients.Go(func() {
				for range 5 {
					traffic(t, address, fmt.Sprintf("account-%d", i%2))
				}
			})
		}
		ended := make(chan struct{})
		go func() {
			clients.Wait()
			close(ended)
		}()
		for step := 0; ; step++ {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
			_, _, _ = s.Stats(), s.Binds(), s.Records(Query{Limit: 5})
			_, _ = s.Capacity("account-0", time.Now().Add(-time.Second), time.Now()), s.Ceiling("account-1")
			_ = s.InjectMO(MO{From: "1", To: "2", Text: "x"})
			if step%20 == 10 {
				s.Reset()
			}
			if step%20 == 15 {
				if err := s.SetLimits(Limit{Kind: SlidingSecond, Rate: PerSecond(4000)}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for _, b := range s.Binds() {
		t.Errorf("left open: %+v", b)
	}
}

// traffic submits 200 messages on a connection of its own and reads until it ends.
func traffic(t *testing.T, address, systemID string) {
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	requests := []pdu.Body{&pdu.Bind{SystemID: systemID}}
	for i := range 200 {
		requests = append(requests, message(fmt.Sprint(i), "x"))
	}
	if _, err := conn.Write(encodeAll(t, append(requests, &pdu.Unbind{})...)); err != nil {
		return // it was cut
	}
	for in := bufio.NewReader(conn); ; {
		if _, err := receive(in); err != nil {
			return
		}
	}
}
