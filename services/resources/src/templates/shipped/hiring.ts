import { choices, type ShippedTemplate } from './shipped.js';

export const hiring: ShippedTemplate = {
  slug: 'hiring',
  name: 'Hiring',
  description: 'From an open role to a first day: role, candidates, interviews by a guide, and decisions on evidence.',
  icon: '🤝',
  category: 'People',
  tree: [
    {
      type: 'document',
      name: 'How we hire',
      content: `# How we hire

1. **Role** – we write down what success looks like after a year ([an example](resource:@role)).
2. **Screen** – half an hour, the same questions for everybody.
3. **Work sample** – something like the real work, paid where it takes longer than two hours.
4. **Interviews** – two, each by [the guide](resource:@guide); notes are written before anybody talks.
5. **Decision** – on the same day as the last interview, by one person.

Candidates hear from us within three working days at every step. All of them are in [the list](resource:@candidates).

> [!WARNING]
> Restrict this workspace to those who hire. Delete what you know of candidates when the law says so.
`,
    },
    {
      key: 'candidates',
      type: 'table',
      name: 'Candidates',
      columns: [
        { id: 'name', name: 'Name', required: true },
        { id: 'role', name: 'Role' },
        {
          id: 'stage',
          name: 'Stage',
          type: 'select',
          options: choices('New', 'Screen', 'Work sample', 'Interviews', 'Offer', 'Hired', 'Declined'),
        },
        { id: 'email', name: 'E-mail', type: 'email' },
        { id: 'source', name: 'Came by', type: 'select', options: choices('Website', 'Referral', 'Event', 'Agency') },
        { id: 'next', name: 'Next step by', type: 'date' },
        { id: 'rating', name: 'Rating', type: 'rating', options: { max: 5 } },
        { id: 'notes', name: 'Notes', type: 'long_text' },
      ],
      rows: [],
    },
    {
      type: 'folder',
      name: 'Roles',
      children: [
        {
          key: 'role',
          type: 'document',
          name: 'Example role',
          content: `# _Role_

## After one year, this person has

1. _Outcome that can be seen_
2. _Outcome that can be seen_

## Needs from the first day

- …

## Can learn here

- …

## What we offer

_Pay range, place, hours._
`,
        },
      ],
    },
    {
      type: 'folder',
      name: 'Interviews',
      children: [
        {
          key: 'guide',
          type: 'document',
          name: 'Interview guide',
          content: `# Interview guide

Ask for stories, not opinions: _"Tell me about the last time that …"_

| What | Question | Good | Poor |
|---|---|---|---|
| Craft | What are you proud of, and what would you do differently? | Names trade-offs | Blames others |
| Working together | When did you disagree with your team? | Listened, then decided | Won or lost |
| Learning | What did you have to learn last year? | A plan and a result | Nothing |

Score each from 1 to 4 before you talk to anybody. There is no 2½.
`,
        },
        {
          type: 'document',
          name: 'Scorecard to copy',
          content: `# _Candidate_ – _interviewer_ – _date_

| What | Score (1–4) | Evidence |
|---|---|---|
| Craft | | |
| Working together | | |
| Learning | | |

**Hire?** yes / no

**What I am least sure of:**
`,
        },
      ],
    },
    {
      type: 'document',
      name: 'Before the first day',
      content: `# Before the first day

- [ ] Contract signed
- [ ] Computer ordered, accounts made
- [ ] Buddy named
- [ ] First week planned and sent
- [ ] The team knows who comes, and when
`,
    },
  ],
};
