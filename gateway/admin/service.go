package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the name of the micro service of the gateways with one streams.prefix: sluice for the default, sms, and
// sluice_<prefix> for another, as their buckets are named. `nats micro info` shows it, and every subject begins with it, so
// that gateways with different prefixes on one NATS do not answer for each other.
func ServiceName(prefix string) string {
	if prefix == "" || prefix == "sms" {
		return "sluice"
	}
	return "sluice_" + prefix
}

// Peer is a connection to NATS that knows the prefix of the gateways it is for.
type Peer interface {
	Conn() *nats.Conn
	Prefix() string
}

// everyone is the target that all instances answer.
const everyone = "all"

// Reporter is a gateway that can tell about itself. Its methods are called on a goroutine of the service and must
// not block.
type Reporter interface {
	Canceller
	// Version is a semantic version, such as 0.1.0.
	Version() string
	Binds() []Bind
	Accounts() []Account
}

// Serve answers the operator's commands for one instance until the returned function is called. It listens on
// sluice.all.<verb>, which every instance answers, and on sluice.<instance>.<verb>; see [ServiceName] for their first
// token.
func Serve(p Peer, r Reporter) (stop func() error, err error) {
	name := ServiceName(p.Prefix())
	service, err := micro.AddService(p.Conn(), micro.Config{
		Name:               name,
		Version:            semantic(r.Version()),
		Description:        "Sluice SMPP gateway",
		Metadata:           map[string]string{"instance": r.Instance(), "prefix": p.Prefix()},
		QueueGroupDisabled: true, // every instance answers
	})
	if err != nil {
		return nil, fmt.Errorf("admin service: %w", err)
	}
	for _, target := range []string{everyone, r.Instance()} {
		group := service.AddGroup(name + "." + target)
		err := errors.Join(
			group.AddEndpoint("binds", answer(func() any { return r.Binds() })),
			group.AddEndpoint("accounts", answer(func() any { return r.Accounts() })),
			group.AddEndpoint("cancel", cancelHandler(r)),
		)
		if err != nil {
			_ = service.Stop()
			return nil, fmt.Errorf("admin service: endpoint for %q: %w", target, err)
		}
	}
	return service.Stop, nil
}

// answer sends what report returns as JSON.
func answer(report func() any) micro.Handler {
	return micro.HandlerFunc(func(req micro.Request) {
		data, err := json.Marshal(report())
		if err != nil {
			_ = req.Error("500", "the answer could not be written", nil)
			return
		}
		_ = req.Respond(data) // a caller that is gone needs no answer
	})
}

// semantic makes a version that the micro framework accepts of any build's version: a build without a release is 0.0.0.
func semantic(version string) string {
	m := regexp.MustCompile(`^v?(\d+\.\d+\.\d+)`).FindStringSubmatch(version)
	if m == nil {
		return "0.0.0"
	}
	return m[1]
}
