package main

import (
	"testing"

	"sluice/gateway/admin"
)

func TestBindDetail(t *testing.T) {
	got := bindDetail(&admin.Bind{
		Instance: "gw-1", Account: "acme", Number: 1, InFlight: 3, Alarm: "25 of 263 refused",
		Pending:   []admin.Pending{{Sequence: 7, DeliveryID: "order-1", Age: 1500}, {Sequence: 8, DeliveryID: "order-2", Age: 20}},
		Decisions: []string{"12:00:01 probe", "12:00:02 cut"},
	})
	want := `
acme/1 on gw-1
  alarm: 25 of 263 refused
  in flight: 3
    sequence 7, order-1, for 1.5s
    sequence 8, order-2, for 20ms
    and 1 more
  last decisions of the window:
    12:00:01 probe
    12:00:02 cut
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestBindArgument(t *testing.T) {
	for _, c := range []struct {
		args    []string
		account string
		number  int
		bad     bool
	}{
		{[]string{"acme"}, "acme", 0, false},
		{[]string{"acme/2"}, "acme", 2, false},
		{[]string{"acme/0"}, "", 0, true},
		{[]string{"acme/x"}, "", 0, true},
		{nil, "", 0, true},
		{[]string{"a", "b"}, "", 0, true},
	} {
		account, number, err := bindArgument(c.args)
		if account != c.account || number != c.number || (err != nil) != c.bad {
			t.Errorf("%v: %q, %d, %v", c.args, account, number, err)
		}
	}
}
