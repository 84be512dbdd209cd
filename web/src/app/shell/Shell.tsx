import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { getSession } from "../../auth/session";
import { useSession } from "../../auth/useSession";
import { LiveProvider } from "../../live/useLive";
import { clean } from "../../ui/clean";
import { Drawer } from "../../ui/Drawer";
import { keptPlace } from "../../ui/place";
import { SkeletonLines } from "../../ui/states";
import { readStored, store } from "../../ui/stored";
import { Toasts, toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { chooseOrg, lastOrg, type Organization, OrgProvider, rememberOrg, useMe } from "../org";
import { onDropped } from "../search";
import { BareFrame } from "./BareFrame";
import { BottomBar } from "./BottomBar";
import { DemoBar } from "./DemoBar";
import { useKeys } from "./keys";
import { Nav } from "./Nav";
import { NoOrganization, NotAMember } from "./NoOrganization";
import { Offline } from "./Offline";
import { Overlays } from "./Overlays";
import { Prove } from "./Prove";
import { useRecent } from "./recent";
import { SignInAgain } from "./SignInAgain";
import { TopBar } from "./TopBar";
import { useNotified } from "./useNotified";
import "./shell.css";
import "./print.css";

/** Shell is the frame around every screen of a person who is signed in. */
export function Shell() {
  const session = useSession();
  const navigate = useNavigate();
  useEffect(() => {
    // Somebody signed out, perhaps in another tab.
    if (session.state === "out" && !session.ended) void navigate({ to: "/sign-in", replace: true });
  }, [session, navigate]);
  if (session.state === "out" && !session.ended) return null;
  // Another person starts afresh: nothing of the first one's page is left.
  return <Signed key={session.state === "unknown" ? "" : session.user} />;
}

function Signed() {
  const me = useMe();
  const asked = useRouterState({ select: (s) => (s.location.search as { org?: string }).org });
  // What is shown, not where a link leads: until that is there, the screen before it is still in the frame.
  const screen = useRouterState({ select: (s) => s.matches.at(-1)?.routeId ?? "" });
  const named = chooseOrg(me.organizations, asked);
  // A terminal that names the wrong organization waits for an answer: the screen has a choice, and says which was wanted.
  const org = named ?? (screen === "/frame/device" ? chooseOrg(me.organizations, undefined) : undefined);
  useShownOrg(org, asked, me.organizations.length > 1, named === undefined);
  if (!org && me.organizations.length > 0) return <NotAMember />;
  if (!org) return needsNone(screen, me.operator) ? <BareFrame /> : <NoOrganization />;
  return (
    <OrgProvider value={org}>
      <LiveProvider org={org.id} key={org.id}>
        <Frame />
      </LiveProvider>
    </OrgProvider>
  );
}

/** needsNone: the installation belongs to no organization, and who is in none can still sign in a terminal. */
const needsNone = (screen: string, operator: boolean) =>
  screen === "/frame/device" || (operator && screen.startsWith("/frame/installation/"));

/** useShownOrg remembers which organization is shown, and puts its id into the address of who is in several. */
function useShownOrg(org: Organization | undefined, asked: string | undefined, several: boolean, wrong: boolean) {
  const navigate = useNavigate();
  const first = useRef(true);
  useEffect(() => {
    if (!org) return;
    const before = lastOrg();
    rememberOrg(org.id);
    // A link may lead into another organization than the one that was shown last.
    if (first.current && asked && !wrong && before && before !== org.id) toast(words.shell.openedIn(clean(org.name)));
    first.current = false;
    if (asked ? asked !== org.id : several) {
      const wanted = wrong ? { wanted: asked } : {};
      void navigate({
        to: ".",
        search: (old: object) => ({ ...old, org: org.id, ...wanted }),
        hash: true,
        replace: true,
      });
    }
  }, [org, asked, several, wrong, navigate]);
}

/** useScroll begins each screen at its top, and where somebody was when they come back to it. */
function useScroll() {
  const screen = useRouterState({ select: (s) => s.matches.at(-1)?.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each screen, when it is shown
  useLayoutEffect(() => {
    const content = document.getElementById("content");
    const { came, keep } = keptPlace("content");
    const onScroll = () => content && keep({ offset: content.scrollTop });
    content?.scrollTo(0, came?.offset ?? 0);
    content?.addEventListener("scroll", onScroll, { passive: true });
    return () => content?.removeEventListener("scroll", onScroll);
  }, [screen]);
}

const foldKey = "writ.nav-folded";

function Frame() {
  const [folded, setFolded] = useState(() => readStored(foldKey) === "yes");
  const [drawer, setDrawer] = useState(false);
  const [overlay, setOverlay] = useState<"palette" | "keys">();
  useKeys(setOverlay);
  useNotified();
  useScroll();
  useRecent();
  useEffect(() => {
    onDropped((names) => {
      // The router also reads the query of a page that is being left by the rules of the next one, to keep what both have.
      const at = location.pathname;
      setTimeout(() => location.pathname === at && toast(words.shell.dropped(names.join(", "))));
    });
  }, []);
  const fold = () => {
    store(foldKey, folded ? undefined : "yes");
    setFolded(!folded);
  };
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.shell.skip}
      </a>
      <div className="shell-nav">
        <Nav folded={folded} onFold={fold} />
      </div>
      <Drawer open={drawer} onClose={() => setDrawer(false)} title={words.shell.navigation}>
        <Nav folded={false} onNavigate={() => setDrawer(false)} />
      </Drawer>
      <div className="shell-main">
        <TopBar onMenu={() => setDrawer(true)} onSearch={() => setOverlay("palette")} />
        <DemoBar />
        <Offline />
        <main id="content" className="content" tabIndex={-1}>
          <Suspense fallback={<SkeletonLines lines={6} />}>
            <Outlet />
          </Suspense>
        </main>
        <BottomBar onMore={() => setDrawer(true)} />
      </div>
      <Overlays open={overlay} onClose={() => setOverlay(undefined)} />
      <SignInAgain open={getSession().state === "out"} />
      <Prove />
      <Toasts />
    </div>
  );
}
