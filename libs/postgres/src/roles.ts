import { invalidField } from "@drover/kernel";

/** The three database roles of one service; none of them can log in, each is taken with SET LOCAL ROLE. */
export interface ServiceRoles {
  /** Sees the rows of the transaction's tenant only. */
  readonly tenant: string;
  /** Bypasses row-level security, for the service's declared system jobs. */
  readonly system: string;
  /** Owns the schema and runs its migrations. */
  readonly migrator: string;
}

const serviceName = /^[a-z][a-z0-9_]{0,30}$/;

/** The roles of a service; its name is also its schema. INVALID_ARGUMENT for a name that is no plain identifier. */
export function rolesOf(service: string): ServiceRoles {
  if (!serviceName.test(service)) {
    throw invalidField(
      "service",
      JSON.stringify(service.slice(0, 40)),
      "1 to 31 of a-z, 0-9 and _, beginning with a letter",
    );
  }
  return { tenant: `drover_${service}`, system: `drover_${service}_system`, migrator: `drover_${service}_migrator` };
}
