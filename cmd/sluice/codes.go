package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/smpp/pdu"
)

func codesCommand() *cli.Command {
	return &cli.Command{
		Name:         "codes",
		Usage:        "show what each command_status means to the gateway, or explain one",
		UsageText:    "sluice codes\nsluice codes 0x58\nsluice codes -c configs/sluice.yaml --account acme bind:0x0D",
		ArgsUsage:    "[CODE]",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`, for the table of an account"},
			&cli.StringFlag{Name: "account", Usage: "`NAME` of the account in the configuration"},
			&cli.StringFlag{Name: "profile", Usage: "vendor profile `NAME`, without a configuration"},
			outputFlag(),
		},
		Action: func(c *cli.Context) error {
			table, err := statusTable(c)
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return explainCode(c, table, c.Args().First())
			}
			return printCodes(c, table.Rows())
		},
	}
}

// statusTable is the table of the account that the flags name, else the default one.
func statusTable(c *cli.Context) (*classify.Table, error) {
	path, name := c.String("config"), c.String("account")
	if path == "" {
		if name != "" {
			return nil, cli.Exit("--account needs --config: the account's table is in its configuration", 2)
		}
		return classify.Default().With(c.String("profile"), nil)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if name == "" && len(cfg.Accounts) == 1 {
		for only := range cfg.Accounts {
			name = only
		}
	}
	account, ok := cfg.Accounts[name]
	if !ok {
		return nil, cli.Exit(fmt.Sprintf("--account %q: no such account in %s", name, path), 2)
	}
	return account.StatusTable()
}

func printCodes(c *cli.Context, rows []classify.Row) error {
	if c.String("output") == "json" {
		out := make([]code, 0, len(rows))
		for i := range rows {
			out = append(out, codeOf(&rows[i]))
		}
		return printJSON(c.App.Writer, out)
	}
	lines := make([][]string, 0, len(rows))
	for i := range rows {
		r := codeOf(&rows[i])
		lines = append(lines, []string{r.Phase, r.Code, r.Name, r.Class, r.Scope, dash(r.Hold), r.Origin})
	}
	return printTable(c.App.Writer, []string{"PHASE", "CODE", "NAME", "CLASS", "SCOPE", "HOLD", "FROM"}, lines)
}

// explainCode prints the rule of one status in every phase, or in the phase that the argument names.
func explainCode(c *cli.Context, table *classify.Table, arg string) error {
	word, number, hasPhase := strings.Cut(arg, ":")
	if !hasPhase {
		word, number = "", arg
	}
	status, err := strconv.ParseUint(number, 0, 32)
	if err != nil {
		return cli.Exit(fmt.Sprintf("code %q: write a number such as 0x58 or bind:0x0D", arg), 2)
	}
	var rows []classify.Row
	for _, r := range table.Explain(pdu.Status(status)) {
		if !hasPhase || r.Phase.String() == word {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return cli.Exit(fmt.Sprintf("code %q: the phase is submit, bind or nack", arg), 2)
	}
	if c.String("output") == "json" {
		return printCodes(c, rows)
	}
	for i := range rows {
		r := codeOf(&rows[i])
		text := fmt.Sprintf("0x%08X %s in a %s response\n  class      %s (scope %s)\n  why        %s\n  from       %s", status, r.Name, r.Phase, r.Class, r.Scope, r.Why, r.Origin)
		if r.Source != "" {
			text += ", " + r.Source
		}
		if r.Default != r.Class {
			text += fmt.Sprintf("\n  by default %s", r.Default)
		}
		if r.Rationale != "" {
			text += "\n  because    " + r.Rationale
		}
		if _, err := fmt.Fprintln(c.App.Writer, text); err != nil {
			return err
		}
	}
	return nil
}

// code is one rule of a status table as it is printed.
type code struct {
	Phase     string `json:"phase"`
	Code      string `json:"code"`
	Name      string `json:"name"`
	Class     string `json:"class"`
	Scope     string `json:"scope"`
	Hold      string `json:"hold,omitempty"`
	Shape     bool   `json:"field_shape,omitempty"`
	Meaning   string `json:"meaning"`
	Why       string `json:"why"`
	Rationale string `json:"rationale,omitempty"`
	Origin    string `json:"from"`
	Source    string `json:"source,omitempty"`
	Default   string `json:"default_class"`
}

func codeOf(r *classify.Row) code {
	c := code{
		Phase: r.Phase.String(), Code: fmt.Sprintf("0x%08X", uint32(r.Low)), Name: r.Verdict.Name, Class: r.Verdict.Class.String(),
		Scope: r.Verdict.Scope.String(), Shape: r.Verdict.Shape, Meaning: r.Meaning, Why: r.Verdict.Why, Rationale: r.Rationale,
		Origin: r.Verdict.Origin, Source: r.Source, Default: r.Default.String(),
	}
	if r.High != r.Low {
		c.Code += fmt.Sprintf("-0x%08X", uint32(r.High))
	}
	if r.Verdict.Hold > 0 {
		c.Hold = r.Verdict.Hold.String()
	}
	return c
}
