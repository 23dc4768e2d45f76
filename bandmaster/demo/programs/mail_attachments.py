"""Take the attachments out of a mailbox and list what people sent.

Writes a mailbox with three messages, then opens it as a mail program would. Each attachment must come out
with the bytes that went in, also through base64 and names with accents.
"""

import hashlib
import mailbox
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr
from pathlib import Path

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(256)) * 12
MESSAGES = [  # from, subject, text, {attachment: content}
    ("Zoë Field <zoe@example.org>", "Holiday pictures", "Enjoy!", {"plage été.png": PNG, "hut.png": PNG[::-1]}),
    ("billing@example.com", "Invoice 2024-17", "See attached.", {"invoice-17.csv": b"item,net\ndesk,489.00\n"}),
    ("Ken <ken@example.net>", "Lunch?", "At noon, the usual place.", {}),
]


def write_mailbox(path: Path) -> None:
    """Write the messages in mbox format."""
    box = mailbox.mbox(path)
    for number, (sender, subject, text, files) in enumerate(MESSAGES):
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, "me@example.org", subject
        message["Date"] = f"Mon, {number + 3:02} Jun 2024 08:15:00 +0000"
        message.set_content(text)
        for name, content in files.items():
            kind = ("image", "png") if name.endswith("png") else ("text", "csv")
            message.add_attachment(content, maintype=kind[0], subtype=kind[1], filename=name)
        box.add(message.as_bytes())
    box.close()


def main() -> None:
    path = Path("inbox.mbox")
    write_mailbox(path)
    folder = Path("attachments")
    folder.mkdir()

    box = mailbox.mbox(path)
    found = {}
    for raw in box:
        message = BytesParser(policy=policy.default).parsebytes(raw.as_bytes())
        _, address = parseaddr(message["From"])
        print(f"{message['Date'].datetime:%d %b %H:%M}  {address:<22}{message['Subject']}")
        for part in message.iter_attachments():
            file = folder / Path(part.get_filename()).name  # never trust a path that came by mail
            file.write_bytes(part.get_payload(decode=True))
            found[file.name] = file.read_bytes()
            digest = hashlib.sha256(found[file.name]).hexdigest()[:12]
            print(f"    {file.name:<18}{part.get_content_type():<12}{len(found[file.name]):>6,} bytes  sha256 {digest}")
    messages = len(box)
    box.close()

    print(f"\n{messages} messages, {len(found)} attachments, {path.stat().st_size:,} bytes of mail")
    if found != {name: content for *_, files in MESSAGES for name, content in files.items()}:
        raise SystemExit("an attachment was lost or changed on the way")


if __name__ == "__main__":
    main()
