import { useNavigate } from "@tanstack/react-router";
import { Check, CircleUser } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { leave } from "../../auth/session";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { setTheme, themes, useTheme } from "../../ui/theme";
import { words } from "../../words/en";
import { useMe, useOrg } from "../org";

/** AccountMenu has the person, their organizations, the theme, and the way out. */
export function AccountMenu() {
  const me = useMe();
  const org = useOrg();
  const theme = useTheme();
  const navigate = useNavigate();
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <Button look="quiet">
          <CircleUser size={18} aria-hidden />
          <span className="hidden-text">{words.shell.account}</span>
          <span className="wide-only one-line account-name">{clean(org.name, 30)}</span>
        </Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          <DropdownMenu.Label className="menu-label">{clean(me.user.email)}</DropdownMenu.Label>
          <DropdownMenu.RadioGroup
            value={org.id}
            onValueChange={(id) => navigate({ to: "/", search: me.organizations.length > 1 ? { org: id } : {} })}
          >
            <DropdownMenu.Label className="menu-label">{words.shell.organizations}</DropdownMenu.Label>
            {me.organizations.map((o) => (
              <Choice key={o.id} value={o.id} name={clean(o.name)} />
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.RadioGroup value={theme} onValueChange={(t) => setTheme(t as typeof theme)}>
            <DropdownMenu.Label className="menu-label">{words.shell.theme}</DropdownMenu.Label>
            {themes.map((t) => (
              <Choice key={t} value={t} name={words.shell.themes[t]} />
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Item className="menu-item" onSelect={() => navigate({ to: "/me" })}>
            {words.shell.screens.me}
          </DropdownMenu.Item>
          {me.operator && (
            <DropdownMenu.Item className="menu-item" onSelect={() => navigate({ to: "/installation/usage" })}>
              {words.shell.installation}
            </DropdownMenu.Item>
          )}
          <DropdownMenu.Item className="menu-item" onSelect={leave}>
            {words.shell.signOut}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function Choice({ value, name }: { value: string; name: string }) {
  return (
    <DropdownMenu.RadioItem className="menu-item" value={value}>
      <span className="menu-check">
        <DropdownMenu.ItemIndicator>
          <Check size={14} aria-hidden />
        </DropdownMenu.ItemIndicator>
      </span>
      <span className="one-line">{name}</span>
    </DropdownMenu.RadioItem>
  );
}
