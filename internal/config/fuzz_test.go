package config_test

import (
	"strings"
	"testing"

	"writ/internal/config"
)

// FuzzLoad hides a canary somewhere in the value of one secret variable, given
// directly or in a file, beside any other environment.
func FuzzLoad(f *testing.F) {
	const canary = "qX7canaryK2v"
	f.Add(uint8(0), false, "WRIT_ENV=production\nPORT=x", "", "")
	f.Add(uint8(1), true, "WRIT_MASTER_KEY=x", "postgres://writ:", "%zz@db/writ")
	f.Add(uint8(1), false, "", "mysql://", "")
	f.Add(uint8(4), false, "WRIT_MAIL_FROM=x", "smtp+insecure://user:", "@mail.example.com:x")
	f.Add(uint8(0), true, "WRIT_TLS_CERT=x", "-----BEGIN ", "-----\nAAAA\n-----END x-----")
	f.Add(uint8(2), false, "WRIT_TRUSTED_PROXIES=,\nWRIT_CORS_ORIGINS=https://[::1%25a]", "ab\x00", "\n")
	var secrets []string
	for _, v := range config.Variables() {
		if v.Secret {
			secrets = append(secrets, v.Name)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, inFile bool, others, before, after string) {
		if strings.Contains(others, canary) {
			return // a name, which is shown, could then hold it
		}
		name, value := secrets[int(which)%len(secrets)], before+canary+after
		environ := append(strings.Split(others, "\n"), name+"="+value)
		if inFile {
			environ[len(environ)-1] = name + "_FILE=/secret"
		}
		_, err := config.Load(environ, files(map[string]string{"/secret": value}))
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the error shows the value of %s: %v", name, err)
		}
		if _, ok := err.(config.Problems); err != nil && !ok {
			t.Errorf("the error is a %T, want Problems", err)
		}
	})
}
