package gateway

import (
	"context"
	"sync"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/principal"
	"writ/internal/toolname"
)

// catalogue is what the approved servers of an organization, or the one that a token is for, offer at one version of
// its log. It is shared and never changed.
type catalogue struct {
	version audit.Version
	servers []*offered
	byID    map[string]*offered
	tools   map[string]*offeredTool // by public name
	prompts map[string]*offeredPrompt
}

// offered is an approved server that can be reached.
type offered struct {
	mcp.Server
	tools []*offeredTool // those that a person has accepted, and those that are held
}

type offeredTool struct {
	mcp.Tool
	of     *offered
	public string // its name where the tools of all servers are in one list
}

type offeredPrompt struct {
	definition.Prompt
	of     *offered
	public string
}

// catalogues are those of the organizations, as they were read last.
type catalogues struct {
	mu    sync.Mutex
	known map[readBy]*catalogue
}

// readBy is for whom a catalogue was read: an access token for one server is told of that one.
type readBy struct{ orgID, audience string }

func readFor(p principal.Principal) readBy { return readBy{p.OrgID, p.Audience} }

// maxCatalogues bounds how many are kept.
const maxCatalogues = 200

func (c *catalogues) get(by readBy, at audit.Version) *catalogue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[by]; known != nil && known.version == at {
		return known
	}
	return nil
}

func (c *catalogues) put(by readBy, read *catalogue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCatalogues {
		c.known = nil
	}
	if c.known == nil {
		c.known = map[readBy]*catalogue{}
	}
	c.known[by] = read
}

// catalogueFor is what the servers of the caller's organization offer now.
func (g *Gateway) catalogueFor(ctx context.Context, p principal.Principal) (*catalogue, error) {
	// The version is read before the servers, so that what is kept is never older than it says.
	version, err := g.Decisions.Version(ctx, p)
	if err != nil {
		return nil, err
	}
	if known := g.catalogues.get(readFor(p), version); known != nil {
		return known, nil
	}
	read, err := g.readCatalogue(ctx, p)
	if err != nil {
		return nil, err
	}
	read.version = version
	g.catalogues.put(readFor(p), read)
	return read, nil
}

func (g *Gateway) readCatalogue(ctx context.Context, p principal.Principal) (*catalogue, error) {
	approved, err := g.Servers.List(ctx, p, mcp.Approved)
	if err != nil {
		return nil, err
	}
	c := &catalogue{byID: map[string]*offered{}}
	for i := range approved {
		if approved[i].URL == "" {
			continue // a program on somebody's machine
		}
		_, tools, err := g.Servers.Tools(ctx, p, approved[i].ID)
		if fault.Is(err, fault.NotFound) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		of := &offered{Server: approved[i]}
		for j := range tools {
			of.tools = append(of.tools, &offeredTool{Tool: tools[j], of: of})
		}
		c.servers = append(c.servers, of)
		c.byID[of.ID] = of
	}
	c.nameTools()
	c.namePrompts()
	return c, nil
}

// nameTools gives all tools their public names. Two that share even those are both left out: nobody could tell which is
// called.
func (c *catalogue) nameTools() {
	var all []*offeredTool
	var named []toolname.Name
	for _, of := range c.servers {
		for _, tool := range of.tools {
			all, named = append(all, tool), append(named, toolname.Name{Server: of.Name, Tool: tool.Name})
		}
	}
	c.tools = make(map[string]*offeredTool, len(all))
	shared := map[string]bool{}
	for i, public := range publicNames(named) {
		all[i].public = public
		shared[public] = c.tools[public] != nil || shared[public]
		c.tools[public] = all[i]
	}
	for public, twice := range shared {
		if twice {
			delete(c.tools, public)
		}
	}
}

func (c *catalogue) namePrompts() {
	var all []*offeredPrompt
	var named []toolname.Name
	for _, of := range c.servers {
		for _, prompt := range of.About.Prompts {
			all = append(all, &offeredPrompt{Prompt: prompt, of: of})
			named = append(named, toolname.Name{Server: of.Name, Tool: prompt.Name})
		}
	}
	c.prompts = make(map[string]*offeredPrompt, len(all))
	for i, public := range publicNames(named) {
		all[i].public = public
		c.prompts[public] = all[i]
	}
}

// server is an approved server by its id or name.
func (c *catalogue) server(idOrName string) *offered {
	if found := c.byID[idOrName]; found != nil {
		return found
	}
	for _, of := range c.servers {
		if of.Name == idOrName {
			return of
		}
	}
	return nil
}

// lacksTool says why a tool is not there: one that was away since it was registered has listed nothing.
func (o *offered) lacksTool() string {
	if o.ListedHash == "" && o.About.Name == "" && len(o.tools) == 0 {
		return "the MCP server has listed nothing yet; when it answers, writ mcp refresh " + o.Name + " has it list its tools"
	}
	return "the MCP server lists no such tool"
}

// tool is a tool of the server by its own name; nil: the registry knows none.
func (o *offered) tool(name string) *offeredTool {
	for _, tool := range o.tools {
		if tool.Name == name {
			return tool
		}
	}
	return nil
}
