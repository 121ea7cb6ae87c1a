package smpp_test

import (
	"context"
	"fmt"
	"net"

	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// A session is bound, one submit_sm is sent, and its answer is read. What the peer may have seen is in the type of an
// error: smpp.ErrNotSent, or smpp.ErrNoResponse.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go testserver.New(testserver.Scenario{}).Serve(ctx, listener)

	cfg := smpp.Config{Address: listener.Addr().String(), SystemID: "sluice", Password: "secret"}
	conn, err := smpp.Dial(ctx, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := smpp.Bind(ctx, conn, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := session.Submit(ctx, &pdu.SubmitSM{
		Source:       pdu.Address{TON: 5, Addr: []byte("Sluice")},
		Dest:         pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550001")},
		ShortMessage: []byte("hello"),
	}, nil)
	fmt.Println(resp.Status, len(resp.MessageID) > 0, err)
	fmt.Println(session.Close(ctx))
	// Output:
	// ESME_ROK true <nil>
	// <nil>
}
