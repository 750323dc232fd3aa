export { type Mailer, mailQueue, openMailer, rewrapMails } from './mailer.js';
export { type Mail, writeMail } from './message.js';
export { MAIL_SETTINGS } from './settings.js';
