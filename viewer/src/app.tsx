import { path } from "./location.ts";
import { Notice } from "./notice.tsx";
import { routeOf } from "./route.ts";
import { loadSession, session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { TraceList } from "./trace-list.tsx";
import { TracePage } from "./trace-page.tsx";

/** The whole application: who is signed in decides whether, the address decides what. */
export function App() {
  const who = session.value;
  if (who === undefined) return <Notice state="loading" title="One moment" />;
  if (who === "unreachable") {
    return (
      <Notice state="disconnected" title="The server cannot be reached">
        <button type="button" onClick={() => void loadSession()}>
          Try again
        </button>
      </Notice>
    );
  }
  if (who === "signed-out") return <SignIn />;
  const route = routeOf(path.value);
  if (route.kind === "list") return <TraceList session={who} />;
  if (route.kind === "unknown") {
    return (
      <Notice state="broken" title="There is no page at this address">
        <a class="button" href="/">
          All traces
        </a>
      </Notice>
    );
  }
  return <TracePage key={path.value} route={route} />;
}
