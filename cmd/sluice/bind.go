package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/gateway/admin"
	"sluice/gateway/printable"
)

func bindCommand() *cli.Command {
	return &cli.Command{
		Name:         "bind",
		Usage:        "look into one bind",
		OnUsageError: usageError,
		Subcommands: []*cli.Command{{
			Name:         "show",
			Usage:        "show a bind with its submits in flight and the last decisions of its window, in sentences",
			UsageText:    "sluice bind show acme\nsluice bind show acme/1",
			ArgsUsage:    "ACCOUNT[/N]",
			OnUsageError: usageError,
			Flags:        natsFlags(outputFlag()),
			Action:       showBind,
		}},
	}
}

func showBind(c *cli.Context) error {
	account, number, err := bindArgument(c.Args().Slice())
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	all, gathered, err := admin.Binds(c.Context, client)
	if err != nil {
		return err
	}
	var binds []admin.Bind
	for i := range all {
		if all[i].Account == account && (number == 0 || all[i].Number == number) {
			binds = append(binds, all[i])
		}
	}
	switch {
	case len(binds) == 0:
		return fmt.Errorf("no instance has a bind %q; `sluice binds` lists them", c.Args().First())
	case c.String("output") == "json":
		return printJSON(c.App.Writer, binds)
	}
	if err := printBinds(c, binds, gathered); err != nil {
		return err
	}
	for i := range binds {
		if _, err := fmt.Fprint(c.App.Writer, bindDetail(&binds[i])); err != nil {
			return err
		}
	}
	return nil
}

// bindArgument reads ACCOUNT or ACCOUNT/N; number 0 means every bind of the account.
func bindArgument(args []string) (account string, number int, err error) {
	if len(args) != 1 {
		return "", 0, cli.Exit("name one account or bind, for example acme or acme/1", 2)
	}
	account, n, has := strings.Cut(args[0], "/")
	if !has {
		return account, 0, nil
	}
	if number, err = strconv.Atoi(n); err != nil || number < 1 {
		return "", 0, cli.Exit(fmt.Sprintf("bind %q: the number after / counts from 1", args[0]), 2)
	}
	return account, number, nil
}

// bindDetail is what `bind show` adds to the line of `binds`.
func bindDetail(b *admin.Bind) string {
	var t strings.Builder
	fmt.Fprintf(&t, "\n%s/%d on %s\n", printable.String(b.Account), b.Number, printable.String(b.Instance))
	if b.Alarm != "" {
		fmt.Fprintf(&t, "  alarm: %s\n", printable.String(b.Alarm))
	}
	fmt.Fprintf(&t, "  in flight: %d\n", b.InFlight)
	for _, p := range b.Pending {
		fmt.Fprintf(&t, "    sequence %d, %s, for %s\n", p.Sequence, printable.String(p.DeliveryID), time.Duration(p.Age)*time.Millisecond)
	}
	if more := b.InFlight - len(b.Pending); more > 0 && len(b.Pending) > 0 {
		fmt.Fprintf(&t, "    and %d more\n", more)
	}
	t.WriteString("  last decisions of the window:\n")
	for _, d := range b.Decisions {
		fmt.Fprintf(&t, "    %s\n", printable.String(d))
	}
	return t.String()
}
