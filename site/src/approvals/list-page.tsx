import type { Approval } from '@commonplace/proto/agents/v1/approval.js';
import { sitePage } from '../page/site.js';
import { RISKS, timeText } from './words.js';

/**
 * Renders the pending approvals: those for the person to decide, and those that others decide about the person's runs.
 */
export function listPage(approvals: readonly Approval[]): string {
  return sitePage({
    title: 'Approvals',
    children: (
      <>
        <h1>Approvals</h1>
        {approvals.length === 0 ? (
          <p>Nothing waits for you.</p>
        ) : (
          <ul>
            {approvals.map((approval) => (
              <li key={approval.id}>
                <a href={`/approvals/${approval.id}`}>{approval.title}</a>
                <br />
                <span class="soft">
                  {RISKS[approval.risk]} risk, until {timeText(approval.expiresAt)}
                  {!approval.canDecide && ', for somebody else to decide'}
                </span>
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  });
}
