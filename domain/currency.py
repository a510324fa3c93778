"""Currencies: ISO 4217 codes and how many decimal places their minor unit stands for.

Money stays whole minor units everywhere; the exponent is for people who read and write amounts.

Not here: exchange (there is none: an account, a table and a jackpot have one currency each).
"""

from __future__ import annotations

from typing import Final

_TWO_PLACES: Final = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP
CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR
KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN
PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD
TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW ZWG
"""
_NO_PLACES: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THREE_PLACES: Final = "BHD IQD JOD KWD LYD OMR TND"

EXPONENTS: Final[dict[str, int]] = {
    **dict.fromkeys(_TWO_PLACES.split(), 2),
    **dict.fromkeys(_NO_PLACES.split(), 0),
    **dict.fromkeys(_THREE_PLACES.split(), 3),
}
"""Code -> decimal places of the minor unit: 2 for EUR, 0 for JPY, 3 for KWD."""


def in_major_units(amount: int, currency: str) -> str:
    """An amount for people: 123456 in EUR is `1234.56`, in JPY `123456`."""
    places = EXPONENTS[currency]
    if not places:
        return str(amount)
    whole, part = divmod(abs(amount), 10**places)
    return f"{'-' if amount < 0 else ''}{whole}.{part:0{places}d}"
