package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/gateway/web"
)

// serveHTTP opens /metrics, /healthz, /readyz and /status.
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
	mux.HandleFunc("GET /status", g.status)
	server := web.NewServer(mux, listener.Addr())
	go func() {
		if err := web.Serve(server, listener); !errors.Is(err, http.ErrServerClosed) {
			g.log.Error("the http listener ended", "error", err)
		}
	}()
	g.teardown.push("http listener", server.Shutdown)
	return nil
}
