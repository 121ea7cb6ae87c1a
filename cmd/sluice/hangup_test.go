package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"sluice/testserver"
)

// SIGHUP ended the process without a word, with status 129, and with it the embedded NATS server.
func TestHangupIsLoggedAndIgnored(t *testing.T) {
	t.Parallel()
	_, smsc := fakeSMSC(t, testserver.Scenario{})
	d := newDaemon(t, smsc, "", "")
	d.start(t)
	for n := 1; n <= 2; n++ { // the second finds a process that goes on as before
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		until(t, func() error {
			if strings.Count(d.log.String(), "SIGHUP is ignored") < n {
				return errors.New("the log does not say that SIGHUP is ignored")
			}
			return nil
		})
	}
	if out, errs, err := sluice(t, "send", "--to", "+15550100", "--text", "hello", "--wait", "--nats", d.url()); err != nil {
		t.Errorf("after SIGHUP a message ends with %v: %s%s", err, out, errs)
	}
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
}
