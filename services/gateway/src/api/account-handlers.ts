import type { ConnectRouter } from "@connectrpc/connect";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { principalOf } from "./edge-context.ts";

/** Adds AccountService, which the edge answers itself. */
export function addAccountService(router: ConnectRouter): void {
  router.service(AccountService, {
    whoAmI(_, { values }) {
      const { tenant, subject, scopes } = principalOf(values);
      return { tenantId: tenant, subject, scopes: [...scopes] };
    },
  });
}
