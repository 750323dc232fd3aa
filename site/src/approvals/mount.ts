import type { Client } from '@commonplace/kit/rpc';
import { type Approval, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import { type ApprovalService, ListApprovalsRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { callAs } from '../account/caller.js';
import { mountAccountAction } from '../auth/action.js';
import type { FormErrors } from '../auth/form-errors.js';
import { errorPage } from '../auth/pages.js';
import type { AuthParts } from '../auth/parts.js';
import { orPage, seeOther, sendPage } from '../auth/respond.js';
import { findSession, requireSession, type Session } from '../auth/sessions.js';
import { decisionOf } from './decision.js';
import { listPage } from './list-page.js';
import { approvalPage } from './page.js';

export interface ApprovalParts extends AuthParts {
  readonly approvals: Pick<Client<ApprovalService>, 'getApproval' | 'listApprovals' | 'decideApproval'>;
}

const LIST = '/approvals';
const SHOWN = 50;

/** Serves the pages on which people decide about actions that runs of agents ask to perform. */
export function mountApprovals(router: Router, parts: ApprovalParts): void {
  const { approvals } = parts;

  const find = async (ctx: Context, session: string): Promise<Approval> =>
    approvals.getApproval({ approvalId: String(ctx.params.approval_id) }, await callAs(ctx, parts, session));

  const show = (ctx: Context, act: (session: Session) => Promise<string>) =>
    orPage(
      ctx,
      async () => {
        const session = await findSession(ctx, parts);
        if (session === undefined) return seeOther(ctx, `/auth/sign-in?next=${encodeURIComponent(ctx.path)}`);
        sendPage(ctx, 200, await act(session));
      },
      errorPage,
    );

  router.get(LIST, (ctx) =>
    show(ctx, async ({ cookie }) => {
      const page = { limit: SHOWN, offset: 0, cursor: '' };
      const request = ListApprovalsRequest.fromPartial({ page, status: ApprovalStatus.PENDING });
      const { items } = await approvals.listApprovals(request, await callAs(ctx, parts, cookie));
      return listPage(items);
    }),
  );

  router.get(`${LIST}/:approval_id`, (ctx) =>
    show(ctx, async ({ cookie, csrfToken }) => approvalPage(await find(ctx, cookie), { csrf: csrfToken })),
  );

  mountAccountAction(router, parts, {
    path: `${LIST}/:approval_id`,
    async run({ ctx, sent, session }) {
      const approval = await find(ctx, session);
      const decision = decisionOf(approval, sent.body);
      const { id } = await approvals.decideApproval(decision, await callAs(ctx, parts, session));
      return { data: JSON.stringify({ id }), next: `${LIST}/${id}` };
    },
    async renderErrors({ ctx, sent, errors }) {
      const { cookie, csrfToken } = await requireSession(ctx, parts);
      return approvalPage(await find(ctx, cookie), { csrf: csrfToken, errors: atInput(errors), values: sent.body });
    },
  });
}

/** Moves a fault of `edited_input`, the field's name in the API, to the form's field `input`. */
function atInput(errors: FormErrors): FormErrors {
  const { edited_input: fault, ...fields } = errors.fields;
  return fault === undefined ? errors : { ...errors, fields: { input: fault, ...fields } };
}
