//go:build interop

package interop

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gosmpp "github.com/fiorix/go-smpp/smpp"
	"github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"
)

// The foreign SMSC must limit as the other tests believe. Another foreign
// library drives it here, so that no fault of ours can hide in both ends.

func TestForeignSMSCIsABucket(t *testing.T) {
	s := startSMSC(t, "bucket")
	const burst = 60
	refused := submitAtOnce(t, s, burst)
	l := s.read(t)
	if l.Submits != burst || l.Accepted+refused != burst {
		t.Errorf("%d submits, %d of them refused here: %s", burst, refused, l)
	}
	// All 60 arrive within milliseconds: the bucket of 10 and what trickles in.
	if l.Accepted < 10 || l.Accepted > 30 || l.Refused["0x58"] != refused {
		t.Errorf("a bucket of 10 took: %s", l)
	}
}

func TestForeignSMSCHoldsFive(t *testing.T) {
	s := startSMSC(t, "outstanding")
	refused := submitAtOnce(t, s, 12)
	l := s.read(t)
	if l.Accepted != 5 || refused != 7 || l.Refused["0x14"] != 7 {
		t.Errorf("at most 5 outstanding took: %s", l)
	}
}

func TestForeignSMSCChecksThePassword(t *testing.T) {
	s := startSMSC(t, "bucket")
	tx := &gosmpp.Transceiver{Addr: s.addr, User: smscSystemID, Passwd: "wrong"}
	defer tx.Close()
	if status := <-tx.Bind(); status.Status() == gosmpp.Connected {
		t.Error("bound with a wrong password")
	}
	if l := s.read(t); l.RefusedBinds == 0 || l.Binds != 0 {
		t.Errorf("ledger: %s, %d refused binds", l, l.RefusedBinds)
	}
}

// submitAtOnce sends n messages with go-smpp and counts the refusals.
func submitAtOnce(t *testing.T, s *smsc, n int) (refused int) {
	t.Helper()
	tx := &gosmpp.Transceiver{Addr: s.addr, User: smscSystemID, Passwd: smscPassword, RespTimeout: 5 * time.Second, WindowSize: uint(n)}
	defer tx.Close()
	if status := <-tx.Bind(); status.Status() != gosmpp.Connected {
		t.Fatalf("bind: %v", status.Error())
	}
	var all sync.WaitGroup
	results := make(chan error, n)
	for i := range n {
		all.Go(func() {
			_, err := tx.Submit(&gosmpp.ShortMessage{
				Src: "1000", Dst: fmt.Sprintf("4915550%05d", i), Text: pdutext.Raw("hello"),
			})
			results <- err
		})
	}
	all.Wait()
	close(results)
	for err := range results {
		var status pdu.Status
		switch {
		case err == nil:
		case errors.As(err, &status), strings.Contains(err.Error(), "throttl"), strings.Contains(err.Error(), "queue full"):
			refused++
		default:
			t.Fatalf("submit: %v", err)
		}
	}
	return refused
}
