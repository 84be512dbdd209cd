package notification

import (
	"context"

	"writ/internal/database"
	"writ/internal/notification/notice"
	"writ/internal/principal"
)

// NotifyServer notifies the people who manage MCP servers that tools of one are held, within the change that holds
// them. The cause is what the server lists: a list that comes and goes is notified once.
func (s *Service) NotifyServer(
	ctx context.Context, tx *database.Tx, people []Person, held notice.Server, cause string,
) error {
	return s.notify(ctx, tx, allowed(people, principal.ManageServers), held.Event(), "mcp/"+held.ID+"/"+cause)
}

// SettleServer settles the notifications about a server, within the change after which nothing of it is held.
func (s *Service) SettleServer(ctx context.Context, tx *database.Tx, orgID, serverID string) error {
	return settle(ctx, tx, orgID, notice.ToolsHeld, serverID)
}
