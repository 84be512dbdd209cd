package risk

import (
	"slices"
	"strings"

	"writ/internal/intent/grounding"
)

// Class is what a tool does, judging by its name.
type Class string

// The classes, the worst first. The first one that matches a name counts.
const (
	Shell   Class = "shell"
	Secrets Class = "secrets"
	Money   Class = "money"
	Delete  Class = "delete"
	Send    Class = "send"
	Write   Class = "write"
	Unknown Class = "unknown"
	Read    Class = "read"
)

// verb continues "the tool".
func (c Class) verb() string {
	switch c {
	case Shell:
		return "runs commands"
	case Secrets:
		return "handles passwords, keys or other secrets"
	case Money:
		return "moves money"
	case Delete:
		return "deletes or ends something"
	case Send:
		return "sends something to others"
	case Write:
		return "changes something"
	case Unknown:
		return "has a name that does not say what it does"
	}
	return ""
}

// words are the reason of the class; Read has none.
func (c Class) words() string {
	if verb := c.verb(); verb != "" {
		return "the tool " + verb
	}
	return ""
}

// leaves reports whether the tool can send data out of the organization.
func (c Class) leaves() bool { return c == Send || c == Shell || c == Money || c == Unknown }

// Words of tools' and servers' names. A noun says what a tool is about, whatever
// it does with it; a verb says what it does.
var (
	shellNouns = words("bash shell sh zsh powershell pwsh terminal exec execute subprocess ssh sudo cmd command commands eval console repl interpreter code python javascript script sql")
	// These mean a shell only as the whole name, or after a word such as run.
	shellOnly   = words("command commands code console cmd execute sh eval python javascript script sql")
	secretNouns = words("secret secrets password passwords passwd credential credentials creds token vault keychain otp mfa 2fa passphrase apikey kms")
	moneyNouns  = words("money payment payments pay payout payouts transfer wire refund refunds charge charges withdraw withdrawal deposit purchase buy checkout invoice transaction transactions subscription billing")
	moneyPlaces = words("bank banking stripe paypal wise adyen braintree coinbase treasury payments wallet ledger")

	readVerbs   = words("get list read search find fetch show view describe check count lookup query browse inspect status stat ls cat grep glob head tail preview download summarize compare validate verify whoami ping help is has")
	deleteVerbs = words("delete remove drop destroy purge truncate wipe erase clear revoke cancel terminate kill stop disable rm rmdir unlink uninstall ban kick archive reset rollback")
	sendVerbs   = words("send post publish share mail email message invite upload tweet notify reply forward comment submit broadcast call dm announce push export")
	writeVerbs  = words("write create update set add put edit insert append modify patch move rename copy schedule reschedule reserve book deploy merge commit install save change make replace enable start assign approve accept register import apply configure upsert sync close open mark rotate grant multiedit notebookedit mkdir touch chmod chown")
)

// classOf is the class of a tool. What is stated about it counts before its name, which then only says more precisely
// what the tool does.
func classOf(stated grounding.Class, server, tool string) Class {
	named := ClassOf(server, tool)
	switch stated {
	case grounding.Execute:
		return Shell
	case grounding.Egress:
		return named.among(Send, Secrets, Money)
	case grounding.Write:
		return named.among(Write, Secrets, Money, Delete, Send)
	case grounding.Read:
		return named.among(Read, Secrets)
	}
	return named
}

// among is the class if it is one of some, else another.
func (c Class) among(otherwise Class, some ...Class) Class {
	if slices.Contains(some, c) {
		return c
	}
	return otherwise
}

// ClassOf finds the class by the words of a tool's name, else by those of its server.
func ClassOf(server, tool string) Class {
	names, place := wordsOf(tool), wordsOf(server)
	reads := reads(names)
	switch {
	case isShell(names) || isShell(place) && !reads:
		return Shell
	case hasAny(names, secretNouns) || hasAny(place, secretNouns):
		return Secrets
	case reads:
		return Read
	case hasAny(names, moneyNouns):
		return Money
	}
	class := verbOf(names)
	// A bank's tool that changes something probably moves money.
	if class != Delete && hasAny(place, moneyPlaces) {
		return Money
	}
	return class
}

func verbOf(names []string) Class {
	switch {
	case hasAny(names, deleteVerbs):
		return Delete
	case hasAny(names, sendVerbs):
		return Send
	case hasAny(names, writeVerbs):
		return Write
	}
	return Unknown
}

// reads reports whether a name says what it reads: by its first verb, because
// get_sent_messages reads and send_status does not.
func reads(names []string) bool {
	for _, word := range names {
		switch {
		case readVerbs[word]:
			return true
		case deleteVerbs[word] || sendVerbs[word] || writeVerbs[word] || moneyNouns[word]:
			return false
		}
	}
	return false
}

// isShell reports whether a name means a tool that runs commands or code.
func isShell(names []string) bool {
	for i, word := range names {
		if !shellNouns[word] {
			continue
		}
		if !shellOnly[word] || len(names) == 1 {
			return true
		}
		if i > 0 && (names[i-1] == "run" || names[i-1] == "execute" || names[i-1] == "exec" || names[i-1] == "invoke") {
			return true
		}
	}
	return false
}

// Words of labels.
var (
	sensitiveWords = words("secret secrets confidential restricted sensitive private personal pii phi health medical patient pci card financial payroll salary credential credentials gdpr hipaa classified proprietary")
	untrustedWords = words("untrusted external tainted web internet injected injection unverified suspicious attacker third")
)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

func hasAny(names []string, set map[string]bool) bool {
	for _, word := range names {
		if set[word] {
			return true
		}
	}
	return false
}

// maxName is how much of a name is read.
const maxName = 200

// wordsOf cuts a name into its words, in lower case: send_money, sendMoney,
// send-money and SendMoney are the same two. Letters of other scripts separate words
// as punctuation does, so that a look-alike letter does not hide a word.
func wordsOf(name string) (list []string) {
	if len(name) > maxName {
		name = name[:maxName]
	}
	start := -1
	for i := 0; i <= len(name); i++ {
		ends := i == len(name) || !isWordByte(name[i])
		if start >= 0 && (ends || isUpper(name[i]) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1]))) {
			list = append(list, strings.ToLower(name[start:i]))
			start = -1
		}
		if !ends && start < 0 {
			start = i
		}
	}
	return list
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isWordByte(c byte) bool {
	return isUpper(c) || isLower(c) || c >= '0' && c <= '9'
}
