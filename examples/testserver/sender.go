// Package sender is an application that sends by SMPP itself; its test shows how to use Sluice's fake SMSC.
package sender

import (
	"context"
	"fmt"
	"net"
	"time"

	"sluice/smpp"
	"sluice/smpp/pdu"
)

// Send submits the text to each number over conn, and waits a second after each throttle.
func Send(ctx context.Context, conn net.Conn, text string, numbers ...string) error {
	session, err := smpp.Bind(ctx, conn, smpp.Config{SystemID: "shop", Password: "secret"})
	if err != nil {
		return err
	}
	defer session.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the messages are sent
	for _, number := range numbers {
		for {
			resp, err := session.Submit(ctx, &pdu.SubmitSM{Dest: pdu.Address{TON: 1, NPI: 1, Addr: []byte(number)}, ShortMessage: []byte(text)}, nil)
			if err != nil {
				return err
			}
			if resp.Status == pdu.StatusOK {
				break
			}
			if resp.Status != pdu.StatusThrottled {
				return fmt.Errorf("the SMSC answered %s", resp.Status)
			}
			time.Sleep(time.Second)
		}
	}
	return nil
}
