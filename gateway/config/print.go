package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
)

// Redacted is a copy without the values of secrets: safe to keep, print or
// hand to an operator.
func (c *Config) Redacted() *Config {
	r := *c
	r.NATS.Credentials.Password = c.NATS.Credentials.Password.redacted()
	r.NATS.Embedded.Password = c.NATS.Embedded.Password.redacted()
	r.Accounts = make(map[string]*Account, len(c.Accounts))
	for name, a := range c.Accounts {
		account := *a
		account.Password = a.Password.redacted()
		r.Accounts[name] = &account
	}
	return &r
}

func (s Secret) redacted() Secret {
	if s.value != "" {
		s.value = masked
	}
	return s
}

// Effective prints the configuration as YAML, defaults included and secrets
// left out.
func (c *Config) Effective() ([]byte, error) {
	out, err := yaml.MarshalWithOptions(c.Redacted(),
		yaml.Indent(2),
		yaml.AutoInt(),
		yaml.CustomMarshaler(func(d time.Duration) ([]byte, error) { return []byte(formatDuration(d)), nil }),
	)
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return out, nil
}

// bindField is a text of the bind and what the specification allows of it.
type bindField struct {
	key, value string
	limit      int // octets
}

func (a *Account) bindFields() []bindField {
	return []bindField{
		{"system_id", a.SystemID, 15},
		{"password", a.Password.Value(), 8},
		{"system_type", a.SystemType, 12},
		{"address_range", a.AddressRange, 40},
	}
}

// sorted yields the elements of m in the order of their names.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
