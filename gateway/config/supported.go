package config

// unsupported rejects what the configuration can say and this version cannot
// do, so that no setting is silently ignored.
func (v *validator) unsupported() {
	const only = "this version serves "
	for name, a := range sorted(v.c.Accounts) {
		at := "accounts." + name
		if len(a.Address) > 1 {
			v.add(at+".address", "", "names several addresses", only+"one address; keep the first to try")
		}
	}
	for name, r := range sorted(v.c.Routes) {
		if len(r.Accounts) > 1 {
			v.add("routes."+name+".accounts", "", "names several accounts", only+"one account for each route; keep the first")
		}
	}
}
