package testserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

func TestClientThatDoesNotReadIsNotReadEither(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeConn(t.Context(), far) }()
		const total = 200_000
		go func() {
			octets := encodeAll(t, &pdu.Bind{SystemID: "sluice"})
			for range total {
				octets, _ = pdu.Append(octets, 0, 2, message("1", ""))
				if len(octets) > 1<<15 {
					if _, err := near.Write(octets); err != nil {
						t.Error(err)
						return
					}
					octets = octets[:0]
				}
			}
			_, _ = near.Write(octets)
		}()
		synctest.Wait()
		held := s.Stats().Submits
		if held < 1000 || held > total/2 {
			t.Errorf("%d submits were read, want some and not all", held)
		}
		in := bufio.NewReader(near)
		for range total + 1 {
			if _, err := receive(in); err != nil {
				t.Fatal(err)
			}
		}
		_ = near.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := s.Stats().Accepted; got != total {
			t.Errorf("%d accepted, want %d", got, total)
		}
	})
}

func TestPDUInPieces(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		c := connect(t, s)
		octets := encodeAll(t, &pdu.Bind{SystemID: "sluice"}, message("1", "hello"), &pdu.EnquireLink{})
		for i := range octets {
			c.write(octets[i : i+1])
			time.Sleep(20 * time.Millisecond)
		}
		c.want(pdu.IDBindTransceiverResp, pdu.StatusOK)
		c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		c.want(pdu.IDEnquireLinkResp, pdu.StatusOK)
	})
}

func TestEndInsideAPDUIsAnError(t *testing.T) {
	for _, keep := range []int{2, 10, 20} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- New(Scenario{}).ServeConn(t.Context(), far) }()
			if _, err := near.Write(encodeAll(t, &pdu.Bind{SystemID: "sluice"})[:keep]); err != nil {
				t.Fatal(err)
			}
			_ = near.Close()
			if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("after %d octets: %v", keep, err)
			}
		})
	}
}
