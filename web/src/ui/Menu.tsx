import { DropdownMenu, Popover as RadixPopover } from "radix-ui";
import type { ReactNode } from "react";
import "./overlay.css";

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  /** Why it cannot be chosen. */
  refused?: string | undefined;
}

/** Menu opens a list of acts from a button. */
export function Menu({ button, items, heading }: { button: ReactNode; items: MenuItem[]; heading?: string }) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          {heading && <DropdownMenu.Label className="menu-label">{heading}</DropdownMenu.Label>}
          {items.map((item, i) => (
            <DropdownMenu.Item
              key={i}
              className="menu-item"
              disabled={item.refused !== undefined}
              title={item.refused}
              onSelect={item.onSelect}
            >
              {item.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface PopoverProps {
  button: ReactNode;
  label: string;
  children: ReactNode;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
}

/** Popover opens controls beside a button. */
export function Popover({ button, label, children, open, onOpenChange }: PopoverProps) {
  return (
    <RadixPopover.Root {...(open === undefined ? {} : { open })} {...(onOpenChange ? { onOpenChange } : {})}>
      <RadixPopover.Trigger asChild>{button}</RadixPopover.Trigger>
      <RadixPopover.Portal>
        <RadixPopover.Content className="menu padded stack tight" align="start" sideOffset={4} aria-label={label}>
          {children}
        </RadixPopover.Content>
      </RadixPopover.Portal>
    </RadixPopover.Root>
  );
}
