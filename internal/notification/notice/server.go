package notice

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// ToolsHeld is the kind of event that tools of an approved MCP server are not what a person has accepted: their calls
// wait for a person from now on.
const ToolsHeld Kind = "mcp.tools_held"

// Server is an MCP server of which tools are held.
type Server struct {
	OrgID string
	ID    string
	Name  string
	// Tools are the first of those that are held since now, and More is how many others are. There are none if nobody
	// can tell what the server offers: all of its tools are held then.
	Tools []string
	More  int
	// Reason says why.
	Reason string
	At     time.Time
}

// Event is what became of the server as an event. It has no number: its notifications are made in the change that
// it tells of.
func (s Server) Event() Event {
	return Event{OrgID: s.OrgID, Kind: ToolsHeld, At: s.At, About: &s}
}

// maxTools is how many tools a title names.
const maxTools = 3

// title says how many tools are held, and the first of them.
func (s *Server) title() string {
	of := "of the MCP server " + safeName(s.Name)
	if len(s.Tools) == 0 {
		return "All tools " + of + " are held: nobody can tell what it offers"
	}
	var shown []string
	for _, tool := range s.Tools[:min(len(s.Tools), maxTools)] {
		shown = append(shown, safeName(tool))
	}
	names := strings.Join(shown, ", ")
	all := len(s.Tools) + s.More
	if more := all - len(shown); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if all == 1 {
		return "A tool " + of + " is held until a person accepts it: " + names
	}
	return fmt.Sprintf("%d tools %s are held until a person accepts them: %s", all, of, names)
}

func (s *Server) subject() string { return s.ID }

func (s *Server) link(publicURL string) string { return ServerLink(publicURL, s.ID) }

// ServerLink opens an MCP server in a browser.
func ServerLink(publicURL, serverID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/servers/" + url.PathEscape(serverID)
}
