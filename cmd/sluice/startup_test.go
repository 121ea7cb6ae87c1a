package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func TestRunNamesThePortsThatAreTaken(t *testing.T) {
	d := newDaemon(t, "127.0.0.1:1", "", "")
	for _, addr := range []string{d.nats, d.http} {
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	_, errs, err := sluice(t, "run", "-c", d.config)
	if exitStatus(err) != 1 {
		t.Errorf("run: %v", err)
	}
	contains(t, "run", errs,
		"nats.embedded.listen: "+d.nats+" is in use by another process; stop that one, or set another port, or nats.url",
		"http: "+d.http+" is in use by another process; stop that one, or set another port, or off")
}

func TestRunNamesAnAddressOfAnotherMachine(t *testing.T) {
	path := write(t, "sluice.yaml", `
nats: {embedded: {listen: "127.0.0.1:0"}}
http: "192.0.2.1:9464"
accounts: {acme: {address: "127.0.0.1:1", system_id: s, password: p}}
`)
	_, errs, err := sluice(t, "run", "-c", path)
	if exitStatus(err) != 1 {
		t.Errorf("run: %v", err)
	}
	contains(t, "run", errs, "http: cannot listen on 192.0.2.1:9464: ", "set another port, or off")
}

func TestRunSaysWhichStoreIsTooSmall(t *testing.T) {
	d := newDaemon(t, "127.0.0.1:1", "", "max_bytes: 1000TiB")
	_, errs, err := sluice(t, "run", "-c", d.config)
	if exitStatus(err) != 1 {
		t.Errorf("run: %v", err)
	}
	contains(t, "run", errs, "max_bytes 1000TiB", "more than the store may take", "lower them", "nats.embedded.max_store")
}

func TestRunNamesTheNATSServerThatItCannotUse(t *testing.T) {
	guarded, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "gw", Password: "Geheim", NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	guarded.Start()
	t.Cleanup(guarded.Shutdown)
	if !guarded.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server did not start")
	}
	for _, url := range []string{"nats://127.0.0.1:1", guarded.ClientURL()} {
		path := write(t, "sluice.yaml", `
http: off
nats: {url: "`+url+`", credentials: {user: gw, password: Falsch}}
accounts: {acme: {address: "127.0.0.1:1", system_id: s, password: p}}
`)
		_, errs, err := sluice(t, "run", "-c", path)
		if exitStatus(err) != 1 {
			t.Errorf("run: %v", err)
		}
		contains(t, "run", errs, "nats.url is "+url+";", "correct nats.url or nats.credentials")
		if strings.Contains(errs, "Falsch") {
			t.Errorf("the error shows the password:\n%s", errs)
		}
	}
}
