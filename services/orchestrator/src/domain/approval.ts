/** Every state of an approval, in the order of its life. */
export const approvalStates = ["PENDING", "APPROVED", "DENIED", "EXPIRED", "WITHDRAWN"] as const;

/** Where an approval is; all but PENDING are final. */
export type ApprovalState = (typeof approvalStates)[number];

/** Reason of an approval that asks whether to send a call again whose outcome is unknown. */
export const unknownOutcomeReason = "OUTCOME_UNKNOWN";

/** The token that stands for a tenant's log of approvals where signals name a task. */
export const approvalLog = "approvals";
