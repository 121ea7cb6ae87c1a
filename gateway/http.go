package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/gateway/admin"
	"sluice/internal/printable"
	"sluice/internal/web"
)

// serveHTTP opens /metrics, /healthz and /readyz.
func (g *Gateway) serveHTTP(ctx context.Context) error {
	if g.cfg.HTTP == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", string(g.cfg.HTTP))
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	g.addr = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g.opts.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n")) // the process answers: that is all it says
	})
	mux.HandleFunc("GET /readyz", g.readyz)
	server := web.NewServer(mux, listener.Addr())
	go func() {
		if err := web.Serve(server, listener); !errors.Is(err, http.ErrServerClosed) {
			g.log.Error("the http listener ended", "error", err)
		}
	}()
	g.teardown.push("http listener", server.Shutdown)
	return nil
}

// readyz answers 200 when every account can submit, else 503 with one line for each reason why not.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	faults := g.notReady(ctx)
	if len(faults) == 0 {
		_, _ = w.Write([]byte("ready\n"))
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for i := range faults {
		faults[i] = printable.String(faults[i])
	}
	_, _ = w.Write([]byte(strings.Join(faults, "\n") + "\n"))
}

func (g *Gateway) notReady(ctx context.Context) []string {
	var faults []string
	if !g.client.Conn().IsConnected() {
		faults = append(faults, "nats: not connected")
	} else if _, err := g.client.LaneStats(ctx); err != nil {
		faults = append(faults, "nats: "+err.Error())
	}
	if err := g.journal.Failure(); err != nil {
		faults = append(faults, "journal: "+err.Error())
	}
	for _, a := range g.accounts {
		at := a.standing()
		if at.state == Bound {
			continue
		}
		faults = append(faults, fmt.Sprintf("account %s: %s", a.name, admin.Standing(string(at.state), at.reason, at.until)))
	}
	return faults
}
